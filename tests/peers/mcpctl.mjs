/*
 * mcpctl.mjs - mcpctl against servers that others wrote
 *
 *     node mcpctl.mjs v2|v1|everything stdio|http|sse auto|modern|legacy BIN
 */
import { assert, finish, processes, prove } from './cases.mjs';
import { proveEverything } from './mcpctl_everything.mjs';
import { meet } from './mcpctl_run.mjs';
import { proveSdk } from './mcpctl_sdk.mjs';

const [peer, way, era, bin] = process.argv.slice(2);
const met = await meet(bin, peer, way, era);

await (peer === 'everything' ? proveEverything : proveSdk)(met);
await prove('the_server_stops', () => met.leave());
await prove('no_process_is_left', () =>
    assert.deepEqual(processes.filter(entry => entry.end === null)
        .map(entry => entry.child.spawnargs), []));
finish();
