/*
 * nginx.mjs - the client of the TypeScript SDK 2.x, through nginx, to our server
 *
 *     node nginx.mjs legacy|modern BIN
 *
 * A cancel must pass through the proxy, and a quiet stream must survive it: nginx gives up a
 * response after 5 s of silence here, and the server says something every 200 ms.
 */
import { assert, finish, prove, until } from './cases.mjs';
import { startProxy } from './proxy.mjs';
import { serve } from './reach.mjs';
import { open } from './sdk_v2.mjs';

const [era, bin] = process.argv.slice(2);

const server = await serve(`${bin}/probe-server`, ['--ping', '200']);
const proxy = await startProxy(new URL(server.url).origin, '5s');
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
    assert.equal((await peer.call('hang', { seconds: 7 })).content[0].text, 'slept'));
await prove('progress_is_not_held_back', async () => {
    const controller = new AbortController();
    const call = peer.call('count', { to: 2, delay_ms: 3000 }, {
        signal: controller.signal,
        onprogress: () => controller.abort('before the answer'),
    });

    await assert.rejects(call, /before the answer/);
});
await prove('close', () => peer.close());
process.kill(proxy.child.pid, 'SIGTERM');
await server.stop();
finish();
