/* exit.h - how mcpctl exits; scripts rely on these numbers, so they never change */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

enum cli_exit {
    CLI_OK = 0,
    CLI_OTHER = 1,       /* wrong usage, and all that has no number of its own */
    CLI_AUTH = 3,        /* the server wants to know who we are */
    CLI_UNREACHABLE = 4, /* there is no session: nobody there, or lost */
    CLI_TOOL_ERROR = 5,  /* the tool ran and failed at its job */
    CLI_UNCONFIRMED = 6, /* canceled, but the server did not show that it heard */
    CLI_CANCELED = 130   /* canceled; the server was told and the session works */
};

#endif
