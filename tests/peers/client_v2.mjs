/*
 * client_v2.mjs - the client of the TypeScript SDK 2.x against our servers
 *
 *     node client_v2.mjs legacy|auto|modern BIN [http OPTION...]
 *
 * BIN is the folder that has them; with http they are started with --http and the options.
 */
import { finish } from './cases.mjs';
import { proveOffers } from './offer_cases.mjs';
import { proveAsking } from './ask_cases.mjs';
import { proveServer } from './probe_cases.mjs';
import { overHttp, overStdio } from './reach.mjs';
import { MODERN, open } from './sdk_v2.mjs';

const [era, bin, way, ...ways] = process.argv.slice(2);
const isModern = era !== 'legacy';
const over = way === 'http' ? overHttp : overStdio;
const openOne = (name, options) => open(era, over(`${bin}/${name}`, ways), options);
openOne.has = name => !way || !name.startsWith('example-');

await proveServer(() => openOne('probe-server'),
    isModern ? MODERN : '2025-11-25');
await proveOffers(openOne, isModern);
await proveAsking(openOne, isModern);
finish();
