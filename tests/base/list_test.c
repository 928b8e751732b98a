/* base/list_test.c - proves base/list.h */
#include "base/list.h"

#include "support/test.h"

struct item {
    int number;
    struct mcpi_list link;
};

static int
pop_number(struct mcpi_list *list)
{
    struct mcpi_list *node = mcpi_list_pop(list);

    return node ? MCPI_CONTAINER(node, struct item, link)->number : -1;
}

static void
nodes_come_out_in_their_order(void **state)
{
    struct mcpi_list list;
    struct item items[3];

    (void)state;
    mcpi_list_init(&list);
    for (int i = 0; i < 3; i++)
        items[i].number = i;
    mcpi_list_append(&list, &items[1].link);
    mcpi_list_append(&list, &items[2].link);
    mcpi_list_prepend(&list, &items[0].link);
    assert_ptr_equal(mcpi_list_first(&list), &items[0].link);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pop_number(&list), i);
    assert_int_equal(pop_number(&list), -1);
}

static void
removed_node_is_its_own_head_again(void **state)
{
    struct mcpi_list list;
    struct item a = {.number = 1}, b = {.number = 2};

    (void)state;
    mcpi_list_init(&list);
    mcpi_list_append(&list, &a.link);
    mcpi_list_append(&list, &b.link);
    mcpi_list_remove(&a.link);
    assert_true(mcpi_list_empty(&a.link));
    mcpi_list_remove(&a.link);
    assert_int_equal(pop_number(&list), 2);
    assert_true(mcpi_list_empty(&list));
    assert_null(mcpi_list_first(&list));
}

static void
container_of_a_const_node_is_found(void **state)
{
    const struct item item = {.number = 5};
    const struct mcpi_list *link = &item.link;

    (void)state;
    assert_int_equal(MCPI_CONTAINER(link, struct item, link)->number, 5);
}

TEST_MAIN(TEST(nodes_come_out_in_their_order), TEST(removed_node_is_its_own_head_again),
          TEST(container_of_a_const_node_is_found))
