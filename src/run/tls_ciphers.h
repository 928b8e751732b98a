/* tls_ciphers.h - what TLS 1.2 may use, on both sides of a connection */
#ifndef MCPI_RUN_TLS_CIPHERS_H
#define MCPI_RUN_TLS_CIPHERS_H

/* For OpenSSL. A key for each session, so that one which is stolen later opens nothing
 * that was recorded before; and encryption that is authenticated, so that there is no
 * padding to guess at. TLS 1.3 has nothing else, and a list of its own. */
#define MCPI_TLS_CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20:DHE+AESGCM:DHE+CHACHA20"

#endif
