// hyparquet for tests in Python, whose reader of filters is its own code: a line of JSON in, a line out.
//   node hyparquet_shell.mjs PACKAGES
//   {"file", "column", "values": [texts]}   for each row group, one digit for each value: 1 is maybe
//   {"write": FILE, "columns": [...]}       a file with filters; the columns are those of hyparquet-writer
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const packages = process.argv[2];
const load = (path) => import(pathToFileURL(join(packages, 'node_modules', path)));
const { parquetMetadata } = await load('hyparquet/src/index.js');
const { hashParquetValue, readBloomFilter, sbbfContains } = await load('hyparquet/src/bloom.js');
const { parquetWriteBuffer } = await load('hyparquet-writer/src/index.js');

function typed(text, element) {
  if (element.type === 'INT64') return BigInt(text);
  return element.type === 'BYTE_ARRAY' ? text : Number(text);
}

function ask({ file, column, values }) {
  const bytes = readFileSync(file), buffer = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
  const metadata = parquetMetadata(buffer);
  const element = metadata.schema.find((e) => e.name === column);
  return metadata.row_groups.map((group) => {
    const chunk = group.columns.find((c) => c.meta_data.path_in_schema[0] === column).meta_data;
    const { blocks } = readBloomFilter({ view: new DataView(buffer), offset: Number(chunk.bloom_filter_offset) });
    return values.map((value) => +sbbfContains(blocks, hashParquetValue(typed(value, element), element))).join('');
  });
}

function write({ write: file, columns }) {
  const typedColumns = columns.map((c) => ({ ...c, data: c.type === 'INT64' ? c.data.map(BigInt) : c.data }));
  writeFileSync(file, new Uint8Array(parquetWriteBuffer({ columnData: typedColumns, rowGroupSize: 500 })));
  return true;
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const question = JSON.parse(line);
  let answer;
  try {
    answer = { rows: question.write ? write(question) : ask(question) };
  } catch (error) {
    answer = { error: String(error.message ?? error) };
  }
  process.stdout.write(JSON.stringify(answer) + '\n');
}
