/*
 * nginx.mjs - the client of the TypeScript SDK 2.x, through nginx, to our server
 *
 *     node nginx.mjs legacy|modern BIN
 *
 * A cancel must pass through the proxy, and a quiet stream must survive it: nginx gives up a
 * response after two seconds of silence here, and the server says something every half.
 */
import { assert, finish, prove, until } from './cases.mjs';
import { startProxy } from './proxy.mjs';
import { serve } from './reach.mjs';
import { open } from './sdk_v2.mjs';

const [era, bin] = process.argv.slice(2);

const server = await serve(`${bin}/probe-server`, ['--ping', '500']);
const proxy = await startProxy(new URL(server.url).origin, '2s');
const peer = await open(era, transports =>
    ({ transport: transports.http(proxy.url) }));

const stats = async () => (await peer.call('stats')).structuredContent;
const calm = () => until(stats, s => s.live_handlers === 0 && s.pool_free === 10);

for (const tool of ['hang', 'hang_async'])
    await prove(`ten_aborted_${tool}_leave_nothing`, async () => {
        const before = await calm();
        const controller = new AbortController();
        const options = { signal: controller.signal };
        const ends = Promise.allSettled(Array.from({ length: 10 },
            () => peer.call(tool, { seconds: 3600 }, options)));

        await until(stats, s => s.started === before.started + 10);
        controller.abort('stop it');
        assert.ok((await ends).every(end => end.status === 'rejected'));
        assert.equal((await calm()).cancelled, before.cancelled + 10);
    });
await prove('a_quiet_stream_survives', async () =>
    assert.equal((await peer.call('hang', { seconds: 5 })).content[0].text, 'slept'));
await prove('progress_is_not_held_back', async () => {
    const seen = [];

    await peer.call('count', { to: 4, delay_ms: 200 },
        { onprogress: () => seen.push(Date.now()) });
    assert.ok(seen.at(-1) - seen[0] > 100, 'all of it came at once');
});
await prove('close', () => peer.close());
process.kill(proxy.child.pid, 'SIGTERM');
server.stop();
finish();
