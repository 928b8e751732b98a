/*
 * client_v1.mjs - the client of the TypeScript SDK 1.x against our servers
 *
 *     node client_v1.mjs BIN [http|sse OPTION...]
 *
 * BIN is the folder that has them; with http or sse they are started with --http and
 * the options.
 */
import { finish } from './cases.mjs';
import { proveOffers } from './offer_cases.mjs';
import { proveAsking } from './ask_cases.mjs';
import { proveServer } from './probe_cases.mjs';
import { overHttp, overSse, overStdio } from './reach.mjs';
import { open } from './sdk_v1.mjs';

const [bin, way, ...ways] = process.argv.slice(2);
const isModern = false;
const over = { http: overHttp, sse: overSse }[way] ?? overStdio;
const openOne = (name, options) => open(over(`${bin}/${name}`, ways), options);
openOne.has = name => !way || !name.startsWith('example-');

await proveServer(() => openOne('probe-server'), '2025-11-25');
await proveOffers(openOne, isModern);
await proveAsking(openOne, isModern);
finish();
