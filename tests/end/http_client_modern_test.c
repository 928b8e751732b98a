/* http_client_modern_test.c - how calls of 2026-07-28 end over HTTP, in every phase */
#include "end/http_client_matrix.h"

int
main(void)
{
    return run_main(__FILE__, CELL_MODERN);
}
