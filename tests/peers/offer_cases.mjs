/*
 * offer_cases.mjs - what a client that somebody else wrote must find at our servers:
 * content, resources, prompts, completion, messages, lists, changes
 *
 * open(server, options) gives a session as session.mjs describes it.
 */
import { assert, expectNothingLeft, hasNoMoreFiles, processes, prove, proveIn, until } from
    './cases.mjs';

const LISTS = [['tools/list', 'tools', 312], ['prompts/list', 'prompts', 153],
    ['resources/list', 'resources', 152],
    ['resources/templates/list', 'resourceTemplates', 151]];

const names = items => items.map(item => item.name).sort();

const text = async result => (await result).content[0].text;

/* The error as it came: an SDK may give it another code. */
async function expectError(peer, promise, code, message, data) {
    await assert.rejects(promise);
    const { error } = peer.wire.findLast(m => m.error);

    assert.equal(error.code, code);
    assert.match(error.message, message);
    if (data)
        assert.deepEqual(error.data, data);
}

/* ---- example-content ------------------------------------------------------------- */

const contentCases = {
    async content_of_every_kind(peer) {
        const { content } = await peer.call('show');
        const [words, image, audio, resource, link] = content;

        assert.equal(content.length, 5);
        assert.equal(words.type, 'text');
        assert.deepEqual(words.annotations, { audience: ['user'], priority: 0.5 });
        assert.equal(image.type, 'image');
        assert.equal(image.mimeType, 'image/png');
        assert.equal(Buffer.from(image.data, 'base64').toString('latin1', 1, 4), 'PNG');
        assert.equal(audio.type, 'audio');
        assert.equal(Buffer.from(audio.data, 'base64').toString(), 'RIFF');
        assert.deepEqual(resource, { type: 'resource', resource: { uri: 'dot:///about',
            mimeType: 'text/plain', text: 'It is one pixel.' } });
        assert.equal(link.type, 'resource_link');
        assert.equal(link.uri, 'dot:///all');
        assert.equal(link.title, 'All dots');
    },
    async hints_are_listed(peer) {
        const show = (await peer.list()).find(tool => tool.name === 'show');

        assert.equal(show.annotations.readOnlyHint, true);
    },
    async messages_of_that_level(peer) {
        await peer.setLevel('info');
        assert.equal(await text(peer.call('work')), 'done');
        await until(() => peer.told('message').length, n => n === 5);
        for (const [i, message] of peer.told('message').entries()) {
            assert.equal(message.level, 'info');
            assert.equal(message.logger, 'work');
            assert.equal(message.data, `step ${i + 1} of 5`);
        }
    },
    async no_messages_below_it(peer) {
        const before = peer.told('message').length;

        await peer.setLevel('warning');
        await peer.call('work');
        await peer.ping();
        assert.equal(peer.told('message').length, before);
    },
    async changed_tools_are_told(peer) {
        const watch = await peer.watch({ lists: ['tools'] });

        if (peer.isModern)
            assert.equal(watch.honoredFilter.toolsListChanged, true);
        await peer.call('learn');
        await until(() => peer.told('tools/list_changed').length, n => n === 1);
        assert.deepEqual(names(await peer.list()), ['divide', 'learn', 'show', 'work']);
        await watch.close();
    },
    async new_tool_works_and_fails(peer) {
        assert.equal(await text(peer.call('divide', { by: 4 })), '0.25');
        const failed = await peer.call('divide', { by: 0 });

        assert.equal(failed.isError, true);
        assert.match(failed.content[0].text, /another number/);
    },
};

/* ---- example-resources ----------------------------------------------------------- */

const CARD = { type: 'ref/resource', uri: 'users://{name}/card' };

const resourceCases = {
    async resources_are_listed(peer) {
        const resources = await peer.all('resources/list', 'resources');
        const [about, count, icon] = resources;

        assert.deepEqual(names(resources), ['about', 'count', 'icon']);
        assert.equal(about.title, 'About');
        assert.equal(about.size, 14);
        assert.deepEqual(about.annotations, { priority: 0.3 });
        assert.deepEqual(count.annotations, { audience: ['user'] });
        assert.equal(icon.mimeType, 'image/gif');
        assert.equal(icon.size, 6);
    },
    async templates_are_listed(peer) {
        const [card, ...others] =
            await peer.all('resources/templates/list', 'resourceTemplates');

        assert.deepEqual(others, []);
        assert.equal(card.uriTemplate, CARD.uri);
        assert.equal(card.mimeType, 'text/plain');
    },
    async text_is_read(peer) {
        const { contents } = await peer.read('visits://about');

        assert.deepEqual(contents, [{ uri: 'visits://about', mimeType: 'text/plain',
            text: 'Counts visits.' }]);
    },
    async bytes_are_read(peer) {
        const { contents } = await peer.read('visits://icon');

        assert.deepEqual(contents, [{ uri: 'visits://icon', mimeType: 'image/gif',
            blob: Buffer.from('GIF89a').toString('base64') }]);
    },
    async read_by_template(peer) {
        const { contents } = await peer.read('users://ada/card');

        assert.deepEqual(contents, [{ uri: 'users://ada/card', mimeType: 'text/plain',
            text: 'Name: ada' }]);
        /* written in another way */
        assert.equal((await peer.read('users://al%61n/card')).contents[0].text,
            'Name: alan');
    },
    async not_found(peer) {
        const code = peer.isModern ? -32602 : -32002;

        for (const uri of ['users://zed/card', 'visits://nothing', 'other:thing'])
            await expectError(peer, peer.read(uri), code, /not found/i, { uri });
        await peer.read('visits://about');
    },
    async variables_are_completed(peer) {
        assert.deepEqual((await peer.complete(CARD, 'name', 'a')).values,
            ['ada', 'alan']);
        assert.deepEqual((await peer.complete(CARD, 'name', 'al')).values, ['alan']);
        assert.deepEqual((await peer.complete(CARD, 'name', 'x')).values, []);
    },
    async completion_of_nothing_is_refused(peer) {
        await expectError(peer,
            peer.complete({ type: 'ref/resource', uri: 'no://{such}' }, 'such', ''),
            -32602, /./);
    },
    async how_long_it_may_be_kept(peer) {
        const page = await peer.page('resources/list', {});
        const card = await peer.read('users://alan/card');
        const about = await peer.read('visits://about');
        const kept = result => [result.ttlMs, result.cacheScope];

        if (peer.isModern) {
            assert.deepEqual(kept(page), [60000, 'public']);
            assert.deepEqual(kept(card), [60000, 'public']);
            assert.deepEqual(kept(about), [0, 'private']);
        } else {
            for (const result of [page, card, about])
                assert.deepEqual(kept(result), [undefined, undefined]);
        }
    },
    async update_is_told_until_it_is_not_wanted(peer) {
        const uri = 'visits://count';
        const before = Number((await peer.read(uri)).contents[0].text);
        const watch = await peer.watch({ uris: [uri] });

        if (peer.isModern)
            assert.deepEqual(watch.honoredFilter.resourceSubscriptions, [uri]);
        await peer.call('visit');
        await until(() => peer.told('resources/updated').length, n => n === 1);
        assert.equal(peer.told('resources/updated')[0].uri, uri);
        assert.equal(Number((await peer.read(uri)).contents[0].text), before + 1);
        await watch.close();
        await peer.call('visit');
        await peer.ping();
        await peer.call('visit');
        assert.equal(peer.told('resources/updated').length, 1);
    },
};

/* ---- example-prompts ------------------------------------------------------------- */

const REVIEW = { type: 'ref/prompt', name: 'review' };

const promptCases = {
    async prompts_are_listed(peer) {
        const [describe, review] = await peer.all('prompts/list', 'prompts');

        assert.equal(describe.name, 'describe');
        assert.equal(review.title, 'Review code');
        assert.deepEqual(review.arguments, [
            { name: 'code', description: 'what to review', required: true },
            { name: 'language' }]);
    },
    async prompt_with_arguments(peer) {
        const code = 'int main;\n\u00e4';
        const prompt = await peer.prompt('review', { code, language: 'c' });
        const [ask, shown, reply] = prompt.messages;

        assert.equal(prompt.description, 'Review a piece of code');
        assert.equal(prompt.messages.length, 3);
        assert.deepEqual(ask, { role: 'user',
            content: { type: 'text', text: 'Review this c code:' } });
        assert.equal(shown.role, 'user');
        assert.equal(shown.content.type, 'resource');
        assert.equal(shown.content.resource.uri, 'file:///code');
        assert.equal(shown.content.resource.text, code);
        assert.equal(reply.role, 'assistant');
    },
    async prompt_with_picture(peer) {
        const { messages } = await peer.prompt('describe');

        assert.deepEqual(messages.map(m => m.content.type), ['text', 'image']);
        assert.equal(Buffer.from(messages[1].content.data, 'base64').toString(),
            'GIF89a');
    },
    async missing_argument_is_refused(peer) {
        await expectError(peer, peer.prompt('review', { language: 'c' }), -32602,
            /code/);
        await expectError(peer, peer.prompt('review'), -32602, /code/);
    },
    async unknown_prompt_is_refused(peer) {
        await expectError(peer, peer.prompt('nothing', {}), -32602, /nothing/);
    },
    async arguments_are_completed(peer) {
        const { values, total, hasMore } = await peer.complete(REVIEW, 'language', 'c');

        assert.deepEqual(values, ['c', 'c++']);
        assert.ok(total === undefined || total === 2);
        assert.ok(!hasMore);
        assert.deepEqual((await peer.complete(REVIEW, 'language', '')).values,
            ['c', 'c++', 'python', 'rust']);
        assert.deepEqual((await peer.complete(REVIEW, 'code', 'x')).values, []);
    },
    async changed_prompts_are_told(peer) {
        const watch = await peer.watch({ lists: ['prompts'] });

        await peer.call('forget');
        await until(() => peer.told('prompts/list_changed').length, n => n === 1);
        assert.deepEqual(names(await peer.all('prompts/list', 'prompts')), ['review']);
        await watch.close();
        await expectError(peer, peer.prompt('describe'), -32602, /describe/);
    },
};

/* ---- probe-server: what changes ------------------------------------------------- */

const watched = [0, 1, 2].map(i => `watch://${i}`);

const watchCases = {
    async each_watch_has_its_own(peer) {
        const watch = await peer.watch({ uris: watched.slice(0, 2) });
        const seen = () => peer.told('resources/updated').map(p => p.uri).sort();

        for (const uri of watched.toReversed())
            await peer.call('touch', { uri });
        await until(seen, uris => uris.length >= 2);
        await peer.ping();
        assert.deepEqual(seen(), watched.slice(0, 2));
        await watch.close();
    },
    async many_watches_come_and_go(peer) {
        const before = (await peer.call('stats')).structuredContent;

        for (let i = 0; i < 50; i++) {
            const watch = await peer.watch({ uris: watched });

            await watch.close();
        }
        /* over HTTP an SDK keeps connections for a while */
        await until(async () => (await peer.call('stats')).structuredContent,
            s => s.live_handlers === before.live_handlers &&
                hasNoMoreFiles(s, before));
        assert.equal((await peer.read('watch://0')).contents[0].text, '1');
    },
    async updates_go_on_while_a_tool_hangs(peer) {
        const watch = await peer.watch({ uris: ['watch://2'] });
        const before = peer.told('resources/updated').length;
        const controller = new AbortController();
        const { signal } = controller;
        const hang = peer.call('hang', { seconds: 3600 }, { signal });

        await peer.call('touch', { uri: 'watch://2' });
        await until(() => peer.told('resources/updated').length, n => n > before);
        controller.abort('enough');
        await assert.rejects(hang, /enough/);
        await watch.close();
    },
};

/* ---- offer-server: long lists, levels, changes, slow ones ----------------------- */

const PATH = { type: 'ref/resource', uri: 'dir://{folder}/{file}' };

const quiet = peer => until(async () => (await peer.call('counts')).structuredContent,
    c => c.in_flight <= 1 && c.live_handlers <= 1);

async function expectAbort(peer, start) {
    const { canceled } = await quiet(peer);
    const controller = new AbortController();
    const slow = start({ signal: controller.signal });

    await until(async () => (await peer.call('counts')).structuredContent,
        c => c.live_handlers >= 2);
    controller.abort('no more');
    await assert.rejects(slow, /no more/);
    assert.equal((await quiet(peer)).canceled, canceled + 1);
}

const offerCases = {
    async long_lists_are_whole(peer) {
        for (const [method, member, count] of LISTS) {
            const items = await peer.all(method, member);

            assert.equal(items.length, count, method);
            assert.equal(new Set(names(items)).size, count);
            assert.ok(names(items).includes('item-149'));
        }
    },
    async they_come_in_pages(peer) {
        for (const [method, member, count] of LISTS) {
            const seen = [];
            let page, cursor;

            do {
                page = await peer.page(method, cursor === undefined ? {} : { cursor });
                assert.ok(page[member].length > 0 && page[member].length <= 16);
                seen.push(...page[member]);
                cursor = page.nextCursor;
            } while (cursor !== undefined);
            assert.equal(seen.length, count);
        }
    },
    async wrong_cursor_is_refused(peer) {
        for (const [method] of LISTS)
            await expectError(peer, peer.page(method, { cursor: 'no such page' }),
                -32602, /cursor/i);
    },
    async what_is_on_any_page_works(peer) {
        assert.equal(await text(peer.call('item-299')), 'item-299');
        assert.equal((await peer.read('item:///149')).contents[0].text, 'item-149');
        assert.equal((await peer.read('item-100://y')).contents[0].uri, 'item-100://y');
        const { messages } = await peer.prompt('item-149');
        assert.equal(messages[0].content.text, 'item-149');
    },
    async levels_are_kept_apart(peer) {
        const levels = ['debug', 'info', 'notice', 'warning', 'error', 'critical',
            'alert', 'emergency'];

        for (const [i, level] of levels.entries()) {
            const before = peer.told('message').length;

            await peer.setLevel(level);
            await peer.call('log');
            await peer.ping();
            const seen = peer.told('message').slice(before).map(m => m.level);
            assert.deepEqual(seen, levels.slice(i), level);
        }
    },
    async announcements_are_for_sessions(peer) {
        const before = peer.told('message').length;

        await peer.setLevel('info');
        await peer.call('announce');
        await peer.ping();
        const seen = await until(() => peer.told('message').slice(before),
            messages => peer.isModern || messages.length > 0);
        assert.deepEqual(seen.map(m => [m.level, m.logger, m.data]),
            peer.isModern ? [] : [['warning', undefined, { state: 'up' }]]);
    },
    async all_lists_change(peer) {
        const kinds = ['tools', 'prompts', 'resources'];
        const told = () => kinds.map(kind => peer.told(`${kind}/list_changed`).length);
        const watch = await peer.watch({ lists: kinds });

        if (peer.isModern)
            for (const kind of kinds)
                assert.equal(watch.honoredFilter[`${kind}ListChanged`], true);
        assert.deepEqual(told(), [0, 0, 0]);
        await peer.call('change', { add: true });
        await until(told, counts => counts.every(n => n === 1));
        assert.equal(await text(peer.call('extra')), 'extra');
        assert.equal((await peer.read('extra:///')).contents[0].text, 'more');
        for (const [method, member, count] of LISTS.slice(0, 3))
            assert.equal((await peer.all(method, member)).length, count + 1);
        await peer.call('change', { add: false });
        await until(told, counts => counts.every(n => n === 2));
        for (const [method, member, count] of LISTS.slice(0, 3))
            assert.equal((await peer.all(method, member)).length, count);
        await watch.close();
    },
    async many_values_are_cut(peer) {
        for (const ref of [PATH, { type: 'ref/prompt', name: 'path' }]) {
            const { values, total, hasMore } = await peer.complete(ref, 'folder', 'f');

            assert.equal(values.length, 100);
            assert.equal(values[99], 'f99');
            assert.equal(total, 150);
            assert.equal(hasMore, true);
        }
    },
    async known_values_help(peer) {
        for (const ref of [PATH, { type: 'ref/prompt', name: 'path' }]) {
            const { values } =
                await peer.complete(ref, 'file', 'a', { folder: 'home' });

            assert.deepEqual(values, ['home-a.txt']);
            assert.deepEqual((await peer.complete(ref, 'file', 'a')).values,
                ['any-a.txt']);
        }
    },
    async variables_are_decoded(peer) {
        const { contents } = await peer.read('dir://a%20b/%C3%A4.txt');

        assert.equal(contents[0].text, '\u00e4.txt in a b');
        assert.equal(contents[0].uri, 'dir://a%20b/%C3%A4.txt');
    },
    abort_ends_reading: peer => expectAbort(peer, o => peer.read('slow://resource', o)),
    abort_ends_prompt: peer => expectAbort(peer, o => peer.prompt('slow', {}, o)),
    async answers_ping(peer) {
        await peer.ping();
    },
};

/* ---- sessions of their own ------------------------------------------------------ */

async function expectGoodbye(open) {
    const peer = await open('probe-server');
    const watch = await peer.watch({ uris: ['watch://0'] });
    const { child } = processes.at(-1);

    child.kill('SIGTERM');
    assert.equal(await watch.closed, 'graceful');
    await until(() => processes.at(-1).end, end => end !== null);
    await peer.close();
}

async function proveSessions(open, isModern) {
    await prove('changes: the_sdk_looks_after_its_lists', async () => {
        const seen = {};
        const look = kind => ({ debounceMs: 0,
            onChanged: (error, items) => (seen[kind] = error ?? items.length) });
        const peer = await open('offer-server', { listChanged: { tools: look('tools'),
            prompts: look('prompts'), resources: look('resources') } });

        await peer.call('change', { add: true });
        await until(() => seen, s => s.tools && s.prompts && s.resources);
        /* SDK 1.x looks at the first page */
        assert.ok([16, 313].includes(seen.tools));
        assert.deepEqual(peer.errors, []);
        await peer.close();
    });
    await prove('changes: listeners_are_told_apart', async () => {
        const peer = await open('probe-server');
        const first = await peer.watch({ uris: ['watch://0'] });
        const second = await peer.watch({ uris: ['watch://1'] });
        const method = 'notifications/resources/updated';
        const ids = () => peer.wire.filter(m => m.method === method)
            .map(m => m.params._meta?.['io.modelcontextprotocol/subscriptionId']);

        await peer.call('touch', { uri: 'watch://0' });
        await until(ids, seen => seen.length === 1);
        await first.close();
        await peer.call('touch', { uri: 'watch://0' });
        await peer.call('touch', { uri: 'watch://1' });
        await until(ids, seen => seen.length === 2);
        if (peer.isModern)
            assert.equal(new Set(ids().filter(Boolean)).size, 2);
        assert.deepEqual(peer.told('resources/updated').map(p => p.uri),
            ['watch://0', 'watch://1']);
        await second.close();
        await peer.close();
    });
    if (isModern) /* legacy has nothing of the kind */
        await prove('changes: a_server_that_stops_says_goodbye',
            () => expectGoodbye(open));
}

export async function proveOffers(open, isModern) {
    const before = processes.length;

    if (open.has('example-content')) {
        await proveIn('content', () => open('example-content'), contentCases);
        await proveIn('resources', () => open('example-resources'), resourceCases);
        await proveIn('prompts', () => open('example-prompts'), promptCases);
    }
    await proveIn('watch', () => open('probe-server'), watchCases);
    await proveIn('offers', () => open('offer-server'), offerCases);
    await proveSessions(open, isModern);
    await expectNothingLeft('offers', before);
}
