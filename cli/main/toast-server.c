/* toast-server: the HTTP side of the service; everything is in server/. */
#include "server/server.h"

int main(int argc, char **argv)
{
    return server_main(argc, argv);
}
