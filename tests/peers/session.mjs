/*
 * session.mjs - what the cases know of an SDK: one session of a client
 *
 * open(reach, { capabilities, answers, listChanged }) of sdk_v1.mjs and sdk_v2.mjs
 * connects to a server of its own. answers are functions elicit, sample, roots (params,
 * signal); with listChanged, an option of both SDKs, these look after changes by
 * themselves. It gives
 *
 *     version, isModern           what they agreed on
 *     name                        of the server, as it told the client
 *     list()                      its tools
 *     call(tool, args, options)   options: signal, timeout, onprogress
 *     page(method, params)        one page of a list, as it came
 *     all(method, member)         all pages of a list
 *     read(uri), prompt(name, args), complete(ref, name, value, known)
 *     setLevel(level)             of log messages, for the session or for calls to come
 *     watch({ uris, lists })      be told of changes; close() ends that
 *     told(kind)                  what was told: params of notifications/kind
 *     wire                        all that the server sent, since it is connected
 *     ping()                      is it there?
 *     errors                      what the SDK complained about on the side
 *     close()
 */
function told(session, kind) {
    return session.notices.filter(n => n.method === `notifications/${kind}`)
        .map(n => n.params);
}

/* Legacy: lists that change are told unasked. */
async function watch(client, { uris = [] }) {
    for (const uri of uris)
        await client.subscribeResource({ uri });
    return {
        honoredFilter: undefined,
        close: async () => {
            for (const uri of uris)
                await client.unsubscribeResource({ uri });
        },
    };
}

/* Over HTTP of 2025-11-25 only a response ends a POST, so a canceled one is ended by an
 * error, which the SDKs had not expected any more. */
export const isLastWord = complaint =>
    /unknown message ID.*"code":-32800/.test(complaint);

/* What both SDKs have under the same names, and the rest. */
export function finishSession(session, own) {
    const { client, transport } = session;
    const { onmessage } = transport;

    session.wire = [];
    transport.onmessage = (message, extra) => {
        session.wire.push(message);
        onmessage.call(transport, message, extra);
    };
    return Object.assign(session, {
        name: client.getServerVersion().name,
        capabilities: client.getServerCapabilities(),
        read: (uri, options) => client.readResource({ uri }, options),
        prompt: (name, args, options) =>
            client.getPrompt({ name, arguments: args }, options),
        complete: async (ref, name, value, known) => {
            const params = { ref, argument: { name, value } };

            if (known)
                params.context = { arguments: known };
            return (await client.complete(params)).completion;
        },
        setLevel: level => client.setLoggingLevel(level),
        watch: wanted => watch(client, wanted),
        told: kind => told(session, kind),
        close: async () => {
            await client.close();
            await session.leave?.();
        },
    }, own);
}
