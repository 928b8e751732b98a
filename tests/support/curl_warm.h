/* support/curl_warm.h - for programs whose baseline of memory is looked at */
#ifndef TESTS_SUPPORT_CURL_WARM_H
#define TESTS_SUPPORT_CURL_WARM_H

#include <curl/curl.h>

/* What libcurl allocates once and keeps comes before the baseline, so before main. */
static void __attribute__((constructor)) curl_warm(void)
{
    CURL *easy;

    (void)curl_global_init(CURL_GLOBAL_DEFAULT);
    easy = curl_easy_init();
    (void)curl_easy_setopt(easy, CURLOPT_URL, "https://127.0.0.1:1/");
    (void)curl_easy_perform(easy);
    curl_easy_cleanup(easy);
}

#endif
