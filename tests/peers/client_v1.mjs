/*
 * client_v1.mjs - the client of the TypeScript SDK 1.x against our servers
 *
 *     node client_v1.mjs BIN    the folder that has them
 */
import { finish } from './cases.mjs';
import { proveOffers } from './offer_cases.mjs';
import { proveAsking } from './ask_cases.mjs';
import { proveServer } from './probe_cases.mjs';
import { open } from './sdk_v1.mjs';

const [bin] = process.argv.slice(2);
const isModern = false;
const openOne = (name, options) => open(`${bin}/${name}`, options);

await proveServer(() => openOne('probe-server'), '2025-11-25');
await proveOffers(openOne, isModern);
await proveAsking(openOne, isModern);
finish();
