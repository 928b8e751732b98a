/*
 * authorized.mjs - the client of the TypeScript SDK 2.x signs in to our guarded server
 *
 *     node authorized.mjs legacy|auto|modern BIN [dpop]
 */
import { DpopSession, UnauthorizedError } from '@modelcontextprotocol/client';
import { assert, expectNothingLeft, finish, processes, prove } from './cases.mjs';
import { expectChallenge, expectNothingAfter, guard, Provider } from './guarded.mjs';
import { open } from './sdk_v2.mjs';

const [era, bin, way] = process.argv.slice(2);
const dpop = way === 'dpop';
const provider = new Provider(dpop ? await DpopSession.create() : undefined);
const before = processes.length;
let server, peer;

/* The SDK gives up at the first refusal, for the user to sign in meanwhile. */
async function signIn() {
    let transport;
    const reach = transports => {
        transport = transports.http(server.url, { authProvider: provider });
        return { transport };
    };

    await assert.rejects(() => open(era, reach), UnauthorizedError);
    await transport.finishAuth(provider.redirect);
    return open(era, reach);
}

await prove('the_server_starts', async () => (server = await guard(bin, { dpop })));
await prove('who_has_no_token_is_told_where_to_get_one', () => expectChallenge(server));
await prove('sign_in', async () => (peer = await signIn()));
await prove('a_tool_is_called', async () => assert.deepEqual(
    (await peer.call('add', { a: 1, b: 2 })).structuredContent, { sum: 3 }));
await prove('the_handler_knows_who_asks', async () => {
    const [{ text }] = (await peer.call('whoami', {})).content;

    assert.ok(text.includes(provider.client.client_id), text);
});
await prove('a_token_that_is_bad_is_refreshed', async () => {
    const was = await server.counts();

    provider.kept = { ...provider.kept, access_token: `${provider.kept.access_token}x` };
    await peer.call('add', { a: 1, b: 2 });
    const is = await server.counts();

    assert.deepEqual([is.refreshed - was.refreshed, is.codes - was.codes], [1, 0]);
});
await prove('fifty_aborted_hangs_leave_nothing', () => expectNothingAfter(peer, 5));
await prove('close', () => peer.close());
server?.stop();
await expectNothingLeft('end', before);
finish();
