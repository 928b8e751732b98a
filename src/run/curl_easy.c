/* curl_easy.c - handles of libcurl, set up as a fetcher wants them */
#include "run/curl_easy.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "run/tls_ciphers.h"

#define CONNECT_MS 10000
#define RECEIVE_BYTES 4096L  /* before 8.7 each open request has such a buffer */
#define SEND_BYTES 16384L    /* likewise, for long bodies and TLS; the least there is */
#define KEEPALIVE_IDLE_S 15L /* a peer that vanishes is noticed after 15 + 3 * 5 s */
#define KEEPALIVE_INTERVAL_S 5L
/* A connection that was idle for longer is not used again: many servers close theirs
 * after 5 s, and a request that meets the closing is lost, for it is not sent twice. */
#define REUSE_WITHIN_S 4L
#define HTTP2_SINCE 0x080f00 /* before, it is not (curl#17611): the server works on */
#define TOO_LARGE 100        /* CURLE_TOO_LARGE, which headers before 8.6 do not have */

/* ---- options ---------------------------------------------------------------- */

static pthread_once_t global_once = PTHREAD_ONCE_INIT;
static CURLcode global_code;

static void
global_init(void)
{
    global_code = curl_global_init(CURL_GLOBAL_DEFAULT);
}

static const struct {
    CURLoption option;
    long value;
} numbers[] = {
    {CURLOPT_NOSIGNAL, 1},
    {CURLOPT_QUICK_EXIT, 1}, /* else removing one that resolves a name waits for it */
    {CURLOPT_NOPROGRESS, 1},
    {CURLOPT_FOLLOWLOCATION, 0},
    {CURLOPT_SUPPRESS_CONNECT_HEADERS, 1},
    {CURLOPT_NETRC, CURL_NETRC_IGNORED},
    {CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2}, /* or newer */
    {CURLOPT_PROXY_SSLVERSION, CURL_SSLVERSION_TLSv1_2},
    {CURLOPT_BUFFERSIZE, RECEIVE_BYTES},
    {CURLOPT_UPLOAD_BUFFERSIZE, SEND_BYTES},
    {CURLOPT_TCP_NODELAY, 1},
    {CURLOPT_TCP_KEEPALIVE, 1},
    {CURLOPT_TCP_KEEPIDLE, KEEPALIVE_IDLE_S},
    {CURLOPT_TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S},
    {CURLOPT_MAXAGE_CONN, REUSE_WITHIN_S},
};

/* An aborted request of HTTP/2 must be reset on the wire, and not all are built with
 * it. */
static long
http_version(void)
{
    const curl_version_info_data *own = curl_version_info(CURLVERSION_NOW);

    if (own->version_num >= HTTP2_SINCE && (own->features & CURL_VERSION_HTTP2))
        return CURL_HTTP_VERSION_2TLS;
    return CURL_HTTP_VERSION_1_1;
}

static CURLcode
easy_set_numbers(CURL *easy, const struct mcpi_curl_options *opt)
{
    long verify = opt->no_verify ? 0 : 1;
    int64_t connect_ms = opt->connect_us > 0 ? (opt->connect_us + 999) / 1000
                                             : CONNECT_MS;
    CURLcode code = CURLE_OK;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]) && !code; i++)
        code = curl_easy_setopt(easy, numbers[i].option, numbers[i].value);
    if (!code)
        code = curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, http_version());
    if (!code)
        code = curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                                connect_ms < INT32_MAX ? (long)connect_ms
                                                       : (long)INT32_MAX);
    if (!code)
        code = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, verify);
    if (!code)
        code = curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, verify * 2);
    return code;
}

static CURLcode
easy_set_text(CURL *easy, CURLoption option, const char *text)
{
    return text ? curl_easy_setopt(easy, option, text) : CURLE_OK;
}

/* Nothing to set, and not built in, is no fault. */
static CURLcode
easy_set_path(CURL *easy, CURLoption option, const char *path)
{
    CURLcode code = curl_easy_setopt(easy, option, path);

    return !path && code != CURLE_OUT_OF_MEMORY ? CURLE_OK : code;
}

/* Who names a file or a folder trusts that, and not the system's besides. */
static CURLcode
easy_set_authorities(CURL *easy, const char *file, const char *path)
{
    static const CURLoption options[][2] = {
        {CURLOPT_CAINFO, CURLOPT_CAPATH},
        {CURLOPT_PROXY_CAINFO, CURLOPT_PROXY_CAPATH},
    };
    CURLcode code = CURLE_OK;

    for (size_t i = 0; i < 2 && (file || path) && !code; i++) {
        code = easy_set_path(easy, options[i][0], file);
        if (!code)
            code = easy_set_path(easy, options[i][1], path);
    }
    return code;
}

/* The names are OpenSSL's: with another library it has its own list. */
static const char *
ciphers(void)
{
    const char *library = curl_version_info(CURLVERSION_NOW)->ssl_version;

    return library && strncmp(library, "OpenSSL/", 8) == 0 ? MCPI_TLS_CIPHERS : NULL;
}

static CURLcode
easy_set_texts(CURL *easy, const struct mcpi_curl_options *opt)
{
    const struct {
        CURLoption option;
        const char *text;
    } texts[] = {
        {CURLOPT_PROTOCOLS_STR, "http,https"},
        {CURLOPT_PROXY, opt->proxy},
        {CURLOPT_SSLCERT, opt->cert_file},
        {CURLOPT_SSLKEY, opt->key_file},
        {CURLOPT_KEYPASSWD, opt->key_password},
        {CURLOPT_SSL_CIPHER_LIST, ciphers()},
        {CURLOPT_PROXY_SSL_CIPHER_LIST, ciphers()},
    };
    CURLcode code = easy_set_authorities(easy, opt->ca_file, opt->ca_path);

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]) && !code; i++)
        code = easy_set_text(easy, texts[i].option, texts[i].text);
    return code;
}

/* Better said now than at the first request. */
static int
files_check(const struct mcpi_curl_options *opt, mcp_error *err)
{
    const char *const files[] = {opt->ca_file, opt->ca_path, opt->cert_file,
                                 opt->key_file};

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (files[i] && access(files[i], R_OK) != 0)
            return mcpi_error_set(err, MCP_E_INVAL, "cannot read %s: %s", files[i],
                                  strerror(errno));
    return 0;
}

int
mcpi_curl_easy_new(const struct mcpi_curl_options *opt, CURL **ret_easy, mcp_error *err)
{
    CURLcode code;
    CURL *easy;
    int r;

    r = files_check(opt, err);
    if (r < 0)
        return r;
    pthread_once(&global_once, global_init);
    easy = global_code == CURLE_OK ? curl_easy_init() : NULL;
    if (!easy)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory for HTTP");
    code = easy_set_numbers(easy, opt);
    if (code == CURLE_OK)
        code = easy_set_texts(easy, opt);
    if (code == CURLE_OK) {
        *ret_easy = easy;
        return 0;
    }
    curl_easy_cleanup(easy);
    return mcpi_error_set(err, code == CURLE_OUT_OF_MEMORY ? MCP_E_NOMEM : MCP_E_INVAL,
                          "an option of HTTP: %s", curl_easy_strerror(code));
}

/* To set nothing cannot fail. */
CURL *
mcpi_curl_easy_new_anonymous(CURL *easy)
{
    CURL *anonymous = curl_easy_duphandle(easy);

    if (!anonymous)
        return NULL;
    (void)curl_easy_setopt(anonymous, CURLOPT_SSLCERT, NULL);
    (void)curl_easy_setopt(anonymous, CURLOPT_SSLKEY, NULL);
    (void)curl_easy_setopt(anonymous, CURLOPT_KEYPASSWD, NULL);
    return anonymous;
}

static curl_socket_t
open_nothing(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    (void)user;
    (void)purpose;
    (void)address;
    return CURL_SOCKET_BAD;
}

/* An address, so that no name is looked up. */
CURL *
mcpi_curl_easy_new_sweeper(CURL *easy)
{
    CURL *sweeper = curl_easy_duphandle(easy);

    if (!sweeper)
        return NULL;
    (void)curl_easy_setopt(sweeper, CURLOPT_OPENSOCKETFUNCTION, open_nothing);
    if (curl_easy_setopt(sweeper, CURLOPT_NOPROXY, "*") == CURLE_OK &&
        curl_easy_setopt(sweeper, CURLOPT_URL, "http://127.0.0.1/") == CURLE_OK)
        return sweeper;
    curl_easy_cleanup(sweeper);
    return NULL;
}

/* ---- endings ---------------------------------------------------------------- */

/* A line of a head that is too long is "out of memory" to older versions, and chunks
 * that are none are an error like a lost connection to all of them. */
static int
status_of(const struct mcpi_curl_end *end)
{
    if ((int)end->code == TOO_LARGE)
        return MCP_E_LIMIT;
    switch (end->code) {
    case CURLE_OUT_OF_MEMORY:
        return end->sent && !end->headed ? MCP_E_LIMIT : MCP_E_NOMEM;
    case CURLE_UNSUPPORTED_PROTOCOL: /* no status line */
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
        return end->begun ? MCP_E_PROTO : MCP_E_SEND_FAILED;
    case CURLE_RECV_ERROR:
        if (end->headed && strstr(end->text, "chunk"))
            return MCP_E_PROTO;
        break;
    default:
        break;
    }
    return end->sent ? MCP_E_CLOSED : MCP_E_SEND_FAILED;
}

/* What the system says, if it adds something. */
static int
errno_of(const struct mcpi_curl_end *end)
{
    long number = 0;

    if (end->code != CURLE_COULDNT_CONNECT)
        return 0;
    if (end->open_errno != 0)
        return end->open_errno;
    (void)curl_easy_getinfo(end->easy, CURLINFO_OS_ERRNO, &number);
    return (int)number;
}

int
mcpi_curl_easy_fault(const struct mcpi_curl_end *end, char *why, size_t size)
{
    const char *text = end->text[0] ? end->text : curl_easy_strerror(end->code);
    int number = errno_of(end);
    char line[CURL_ERROR_SIZE * 2];
    int len;

    if (end->code == CURLE_OK)
        text = "the connection was closed in the head of the answer";
    if (number == 0)
        len = snprintf(line, sizeof(line), "%s", text);
    else
        len = snprintf(line, sizeof(line), "%s (%s)", text, strerror(number));
    (void)mcpi_text_clean(why, size, line,
                          len > 0 && (size_t)len < sizeof(line) ? (size_t)len
                                                                : strlen(line));
    return status_of(end);
}
