/*
 * image.h - images on the terminal itself, where it can show them
 *
 * kitty: its graphics protocol, which takes PNG as it is; also WezTerm and Ghostty.
 * Images of other formats are not shown that way.
 *
 * sixel: a terminal of that kind wants pixels, and we decode no images. If img2sixel
 * (of libsixel) is found in PATH it does that for us, as a program without a shell, and
 * with a limit on what it writes and how long it runs. Its output is looked through:
 * one sixel picture and nothing else goes to the terminal.
 */
#ifndef CLI_IMAGE_H
#define CLI_IMAGE_H

#include <mcp/base.h>

#include "cli/content.h"
#include "cli/text.h"

/* What --images means here: asked, or with AUTO what the environment says about the
 * terminal on stdout. Never AUTO. Inside of tmux or screen AUTO is FILE: they pass none
 * of it on, and show garbage. */
enum cli_images cli_image_way(enum cli_images asked, bool is_terminal);

bool cli_image_is_png(const struct cli_text *image);

/* Shows the PNG, and a newline behind it. Appended to into. */
void cli_image_add_kitty(struct cli_text *into, const struct cli_text *png);

/* The image as sixel, and a newline behind it. False: err says why, for a person. */
bool cli_image_add_sixel(struct cli_text *into, const struct cli_text *image,
                         mcp_error *err);

#endif
