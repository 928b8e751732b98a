/* support/rebuild.h - a message that was read, written again through our writers */
#ifndef TESTS_SUPPORT_REBUILD_H
#define TESTS_SUPPORT_REBUILD_H

#include "wire/rpc.h"
#include "json/value.h"

static inline void
rebuild(struct mcpi_buf *buf, const struct mcpi_rpc *rpc)
{
    struct mcpi_buf data;

    if (rpc->kind == MCPI_RPC_ERROR) {
        mcpi_buf_init(&data, NULL, buf->max);
        if (rpc->error_data)
            mcpi_json_write(&data, rpc->error_data);
        mcpi_rpc_write_error(buf, &rpc->id, rpc->error_code, rpc->error_message,
                             data.data, data.len);
        mcpi_buf_done(&data);
        return;
    }
    if (rpc->kind == MCPI_RPC_REQUEST)
        mcpi_rpc_write_request(buf, &rpc->id, rpc->method_name, rpc->method_len);
    else if (rpc->kind == MCPI_RPC_NOTIFICATION)
        mcpi_rpc_write_note(buf, rpc->method_name, rpc->method_len);
    else
        mcpi_rpc_write_answer(buf, &rpc->id);
    if (rpc->params || rpc->result) {
        mcpi_buf_text(buf, rpc->params ? ",\"params\":" : ",\"result\":");
        mcpi_json_write(buf, rpc->params ? rpc->params : rpc->result);
    }
    mcpi_buf_char(buf, '}');
}

#endif
