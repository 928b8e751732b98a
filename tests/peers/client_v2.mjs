/*
 * client_v2.mjs - the client of the TypeScript SDK 2.x against our servers
 *
 *     node client_v2.mjs legacy|auto|modern BIN    the folder that has them
 */
import { finish } from './cases.mjs';
import { proveOffers } from './offer_cases.mjs';
import { proveAsking } from './ask_cases.mjs';
import { proveServer } from './probe_cases.mjs';
import { MODERN, open } from './sdk_v2.mjs';

const [era, bin] = process.argv.slice(2);
const isModern = era !== 'legacy';
const openOne = (name, options) => open(era, `${bin}/${name}`, options);

await proveServer(() => openOne('probe-server'),
    isModern ? MODERN : '2025-11-25');
await proveOffers(openOne, isModern);
await proveAsking(openOne, isModern);
finish();
