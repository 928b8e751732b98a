/*
 * remote.mjs - mcp-remote, which lets hosts that only know stdio reach a server over HTTP,
 * in front of ours
 *
 *     node remote.mjs BIN
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { assert, finish, prove, until } from './cases.mjs';
import { serve } from './reach.mjs';
import { open } from './sdk_v1.mjs';

const [bin] = process.argv.slice(2);
const home = mkdtempSync(join(tmpdir(), 'libmcp-remote-'));
const server = await serve(`${bin}/probe-server`);
const reach = () => ({
    transport: new StdioClientTransport({
        command: process.execPath,
        args: ['programs/node_modules/.bin/mcp-remote', server.url, '--allow-http'],
        env: { ...process.env, HOME: home },
        stderr: 'pipe',
    }),
});
let peer;

const stats = async () => (await peer.call('stats')).structuredContent;
const calm = () => until(stats, s => s.live_handlers === 0 && s.pool_free === 10);

await prove('connect', async () => (peer = await open(reach)));
await prove('a_tool_is_called', async () => assert.deepEqual(
    (await peer.call('add', { a: 1, b: 2 })).structuredContent, { sum: 3 }));
await prove('progress_passes', async () => {
    const seen = [];

    await peer.call('count', { to: 3, delay_ms: 50 }, { onprogress: p => seen.push(p) });
    assert.ok(seen.length >= 2);
});
await prove('ten_aborted_hangs_leave_nothing', async () => {
    const before = await calm();
    const controller = new AbortController();
    const options = { signal: controller.signal };
    const ends = Promise.allSettled(Array.from({ length: 10 },
        () => peer.call('hang', { seconds: 3600 }, options)));

    await until(stats, s => s.pool_free === 0);
    controller.abort('stop it');
    assert.ok((await ends).every(end => end.status === 'rejected'));
    assert.equal((await calm()).cancelled, before.cancelled + 10);
});
await prove('close', () => peer.close());
await prove('the_server_stops', () => server.stop());
finish();
