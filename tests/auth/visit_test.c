/* visit_test.c - one sign-in, as the agent that shows it to the user sees it */
#include "auth/visit.h"

#include <pthread.h>
#include <string.h>

#include "support/test.h"

struct fake {
    struct mcp_auth_visit visit; /* first */
    atomic_int count;
    const char *uri, *why;
};

static void
fake_answered(struct mcp_auth_visit *visit, const char *uri, const char *why)
{
    struct fake *fake = (struct fake *)visit;

    fake->uri = uri;
    fake->why = why;
    atomic_fetch_add(&fake->count, 1);
}

static struct fake
fake_make(void)
{
    return (struct fake){.visit = {.answered = fake_answered}, .why = "untouched"};
}

static void
an_answer_brings_a_uri(void **state)
{
    struct fake fake = fake_make();

    (void)state;
    mcp_auth_answer(&fake.visit, "http://127.0.0.1/callback?code=1");
    assert_int_equal(fake.count, 1);
    assert_string_equal(fake.uri, "http://127.0.0.1/callback?code=1");
    assert_null(fake.why);
}

static void
a_refusal_brings_a_reason_or_none(void **state)
{
    struct fake one = fake_make(), two = fake_make();

    (void)state;
    mcp_auth_refuse(&one.visit, "not today");
    assert_null(one.uri);
    assert_string_equal(one.why, "not today");
    mcp_auth_refuse(&two.visit, NULL);
    assert_int_equal(two.count, 1);
    assert_null(two.uri);
    assert_null(two.why);
}

static void
a_second_answer_counts_as_none(void **state)
{
    struct fake fake = fake_make();

    (void)state;
    mcp_auth_answer(&fake.visit, "first");
    mcp_auth_answer(&fake.visit, "second");
    mcp_auth_refuse(&fake.visit, "third");
    assert_int_equal(fake.count, 1);
    assert_string_equal(fake.uri, "first");
    mcp_auth_answer(NULL, "nobody");
    mcp_auth_refuse(NULL, NULL);
}

#define THREADS 4

static void *
answer(void *user)
{
    mcp_auth_answer(user, "one of them");
    return NULL;
}

static void
of_answers_from_many_threads_one_counts(void **state)
{
    struct fake fake = fake_make();
    pthread_t threads[THREADS];

    (void)state;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, answer, &fake.visit), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(fake.count, 1);
}

TEST_MAIN(TEST(an_answer_brings_a_uri), TEST(a_refusal_brings_a_reason_or_none),
          TEST(a_second_answer_counts_as_none),
          TEST(of_answers_from_many_threads_one_counts))
