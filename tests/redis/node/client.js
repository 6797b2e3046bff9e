// node-redis with its bloom package: each line of output is one check, "ok" or what went wrong.
//   node client.js SOCKET PROTOCOL
import { deepEqual, rejects } from "node:assert/strict";
import { createClient } from "@redis/client";
import bloomPackage from "@redis/bloom";

const options = { socket: { path: process.argv[2] }, RESP: Number(process.argv[3]), modules: bloomPackage.default };
const client = createClient(options);
const { bf, cf } = client;
// chunks are bytes: the client must be told not to read them as text
const BULK_STRING = 36;
const binary = createClient(options).withTypeMapping({ [BULK_STRING]: Buffer });

async function dump(commands, from, to) {
  for (let iterator = 0; ; ) {
    const part = await commands.scanDump(from, iterator);
    if (part.iterator === 0) return;
    deepEqual(await commands.loadChunk(to, part.iterator, part.chunk), "OK");
    iterator = part.iterator;
  }
}

const checks = {
  async "BF.RESERVE, ADD and EXISTS"() {
    deepEqual(await bf.reserve("b", 0.001, 1000, { EXPANSION: 4 }), "OK");
    deepEqual(await bf.add("b", "x"), true);
    deepEqual(await bf.add("b", "x"), false);
    deepEqual(await bf.exists("b", "x"), true);
    deepEqual(await bf.exists("b", "y"), false);
    await rejects(bf.reserve("b", 0.001, 1000), /item exists/);
  },
  async "BF.MADD, MEXISTS, INSERT and CARD"() {
    deepEqual(await bf.mAdd("b", ["x", "y"]), [false, true]);
    deepEqual(await bf.mExists("b", ["x", "y", "z"]), [true, true, false]);
    deepEqual(await bf.insert("i", ["p", "q"], { CAPACITY: 50, ERROR: 0.01, NONSCALING: true }), [true, true]);
    deepEqual(await bf.card("b"), 2);
    await rejects(bf.insert("none", "p", { NOCREATE: true }), /not found/);
  },
  async "BF.INFO"() {
    const info = await bf.info("b");
    deepEqual([info["Capacity"], info["Number of filters"], info["Number of items inserted"], info["Expansion rate"]],
              [1000, 1, 2, 4]);
    deepEqual((await bf.info("i"))["Expansion rate"], null);
  },
  async "CF.RESERVE, ADD, ADDNX, EXISTS, COUNT and DEL"() {
    deepEqual(await cf.reserve("c", 1000, { BUCKETSIZE: 4, MAXITERATIONS: 30, EXPANSION: 2 }), "OK");
    deepEqual(await cf.add("c", "x"), true);
    deepEqual(await cf.add("c", "x"), true);
    deepEqual(await cf.addNX("c", "x"), false);
    deepEqual(await cf.count("c", "x"), 2);
    deepEqual(await cf.del("c", "x"), true);
    deepEqual(await cf.exists("c", "x"), true);
    deepEqual(await cf.del("c", "never"), false);
  },
  async "CF.INSERT, INSERTNX and INFO"() {
    deepEqual(await cf.insert("c", ["x", "y"]), [true, true]);
    deepEqual((await cf.insertNX("c", ["y", "z"])).map(Number), [0, 1]);
    const info = await cf.info("c");
    deepEqual([info["Bucket size"], info["Max iterations"], info["Expansion rate"], info["Number of items inserted"]],
              [4, 30, 2, 4]);
  },
  async "SCANDUMP and LOADCHUNK of both"() {
    await dump(binary.bf, "b", "b2");
    deepEqual(await bf.mExists("b2", ["x", "y", "z"]), [true, true, false]);
    await dump(binary.cf, "c", "c2");
    deepEqual(await cf.exists("c2", "z"), true);
  },
};
await client.connect();
await binary.connect();
for (const [name, check] of Object.entries(checks)) {
  try {
    await check();
    console.log(`ok ${name}`);
  } catch (error) {
    console.log(`failed ${name}: ${String(error.message).replaceAll("\n", " ")}`);
  }
}
process.exit(0);
