// DuckDB for tests in Python: a line of JSON in, {"sql": ...}, a line out, {"rows": ...} or {"error": ...}.
//   node duckdb_shell.mjs PACKAGES EXTENSION ("": none)
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { join } from 'node:path';

const [packages, extension] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(join(packages, 'package.json'))('@duckdb/node-api');
const instance = await DuckDBInstance.create(':memory:', { allow_unsigned_extensions: 'true', threads: '4' });
const connection = await instance.connect();
if (extension) await connection.run(`LOAD '${extension}'`);
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  let answer;
  try {
    answer = { rows: (await connection.runAndReadAll(JSON.parse(line).sql)).getRowsJson() };
  } catch (error) {
    answer = { error: String(error.message ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
