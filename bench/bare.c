/*
 * bare.c - libuv and yyjson with nothing around them: what could be reached at best
 *
 * It parses each line, copies the text it was called with into an answer, and writes
 * all answers of one read at once. It checks nothing and knows no protocol.
 */
#include <stdlib.h>
#include <string.h>
#include <uv.h>
#include <yyjson.h>

struct bare {
    uv_pipe_t in, out;
    char line[1 << 20]; /* what was read and is not yet a line */
    size_t filled;
    char answers[1 << 20];
    size_t length;
};

static void
answer_append(struct bare *bare, yyjson_mut_doc *doc)
{
    size_t room = sizeof(bare->answers) - bare->length;
    size_t length;
    char *text = yyjson_mut_write(doc, 0, &length);

    if (!text || length + 1 > room)
        abort();
    memcpy(bare->answers + bare->length, text, length);
    bare->answers[bare->length + length] = '\n';
    bare->length += length + 1;
    free(text);
}

/* {"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"..."}]}} */
static void
line_answer(struct bare *bare, char *line, size_t length)
{
    yyjson_doc *asked = yyjson_read(line, length, 0);
    yyjson_val *root = yyjson_doc_get_root(asked);
    yyjson_val *id = yyjson_obj_get(root, "id");
    yyjson_val *text = yyjson_ptr_get(root, "/params/arguments/text");
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *answer = yyjson_mut_obj(doc);
    yyjson_mut_val *result, *block;

    yyjson_mut_doc_set_root(doc, answer);
    yyjson_mut_obj_add_str(doc, answer, "jsonrpc", "2.0");
    yyjson_mut_obj_add_val(doc, answer, "id", yyjson_val_mut_copy(doc, id));
    result = yyjson_mut_obj_add_obj(doc, answer, "result");
    if (text) {
        block = yyjson_mut_arr_add_obj(doc,
                                       yyjson_mut_obj_add_arr(doc, result, "content"));
        yyjson_mut_obj_add_str(doc, block, "type", "text");
        yyjson_mut_obj_add_str(doc, block, "text", yyjson_get_str(text));
    }
    if (id)
        answer_append(bare, doc);
    yyjson_mut_doc_free(doc);
    yyjson_doc_free(asked);
}

static void
lines_answer(struct bare *bare)
{
    char *at = bare->line;
    char *end = bare->line + bare->filled;
    char *newline = memchr(at, '\n', (size_t)(end - at));

    while (newline) {
        line_answer(bare, at, (size_t)(newline - at));
        at = newline + 1;
        newline = memchr(at, '\n', (size_t)(end - at));
    }
    bare->filled = (size_t)(end - at);
    memmove(bare->line, at, bare->filled);
}

/* The driver keeps few enough in flight for the pipe to take every answer. */
static void
answers_write(struct bare *bare)
{
    uv_buf_t buf = uv_buf_init(bare->answers, (unsigned)bare->length);

    if (bare->length == 0)
        return;
    if (uv_try_write((uv_stream_t *)&bare->out, &buf, 1) != (int)bare->length)
        abort();
    bare->length = 0;
}

static void
on_room(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct bare *bare = handle->data;

    (void)suggested;
    *buf = uv_buf_init(bare->line + bare->filled,
                       (unsigned)(sizeof(bare->line) - bare->filled));
}

static void
on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf)
{
    struct bare *bare = stream->data;

    (void)buf;
    if (count < 0) {
        uv_stop(stream->loop);
        return;
    }
    bare->filled += (size_t)count;
    lines_answer(bare);
    answers_write(bare);
}

int
main(void)
{
    static struct bare bare;
    uv_loop_t *loop = uv_default_loop();

    if (uv_pipe_init(loop, &bare.in, 0) < 0 || uv_pipe_init(loop, &bare.out, 0) < 0 ||
        uv_pipe_open(&bare.in, 0) < 0 || uv_pipe_open(&bare.out, 1) < 0)
        return 1;
    bare.in.data = &bare;
    if (uv_read_start((uv_stream_t *)&bare.in, on_room, on_read) < 0)
        return 1;
    return uv_run(loop, UV_RUN_DEFAULT) < 0;
}
