/* label: unit */
/* links: http */
/* Addresses that a stranger names: what an URL says, which addresses are somebody's own network; and
 * HMAC-SHA256 (RFC 4231). */
#include "http/address.h"

#include "base/hash.h"
#include "support.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

static bool is_public(const char *text)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &in.sin_addr) == 1)
        return http_address_public((const struct sockaddr *)&in);
    assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
    return http_address_public((const struct sockaddr *)&in6);
}

static void test_public(void **state)
{
    static const char *const own[] = {"0.0.0.0",
                                      "10.0.0.1",
                                      "100.64.0.1",
                                      "127.0.0.1",
                                      "127.255.255.255",
                                      "169.254.169.254",
                                      "172.16.0.1",
                                      "172.31.255.255",
                                      "192.0.0.8",
                                      "192.0.2.1",
                                      "192.168.1.1",
                                      "198.18.0.1",
                                      "198.51.100.1",
                                      "203.0.113.1",
                                      "224.0.0.1",
                                      "240.0.0.1",
                                      "255.255.255.255",
                                      "::",
                                      "::1",
                                      "::127.0.0.1",
                                      "::ffff:10.0.0.1",
                                      "64:ff9b::10.0.0.1",
                                      "2002:7f00:1::1",
                                      "fc00::1",
                                      "fd12:3456::1",
                                      "fe80::1",
                                      "ff02::1",
                                      "2001:db8::1",
                                      "2001::1",
                                      "100::1"};
    static const char *const other[] = {
        "1.1.1.1",         "8.8.8.8",        "100.128.0.1",     "172.32.0.1",        "192.167.1.1",
        "223.255.255.255", "::ffff:8.8.8.8", "2606:4700::1111", "2a00:1450:4001::1", "2001:200::1"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (is_public(own[i]))
            fail_msg("%s is taken as public", own[i]);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (!is_public(other[i]))
            fail_msg("%s is taken as private", other[i]);
    struct sockaddr local = {.sa_family = AF_UNIX};
    assert_false(http_address_public(&local));
}

static void test_parse(void **state)
{
    static const struct {
        const char *url, *scheme, *host;
        int port;
    } good[] = {{"https://Hooks.Example.com/a?b=c", "https", "hooks.example.com", 443},
                {"http://host:8080", "http", "host", 8080},
                {"https://127.1/", "https", "127.0.0.1", 443},
                {"https://2130706433/x", "https", "127.0.0.1", 443},
                {"https://0x7f.0.0.1/", "https", "127.0.0.1", 443}};
    static const char *const bad[] = {"",
                                      "host",
                                      "https://",
                                      "ftp://host/",
                                      "file:///etc/passwd",
                                      "https://user@host/",
                                      "https://user:password@host/",
                                      "https://host/#part",
                                      "https://host:99999/",
                                      "https://ho st/",
                                      "https://host\n/"};
    struct http_address address;
    struct error e;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(http_address_parse(good[i].url, &address, &e), ERROR_OK);
        assert_string_equal(address.scheme, good[i].scheme);
        assert_string_equal(address.host, good[i].host);
        assert_int_equal(address.port, good[i].port);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (http_address_parse(bad[i], &address, &e) != ERROR_USAGE)
            fail_msg("%s is taken", bad[i]);
}

static void check_hmac(const void *key, size_t key_size, const char *text, const char *expected)
{
    uint8_t raw[32];
    char hex[65];
    sha256_hmac(key, key_size, text, strlen(text), raw);
    sha256_format(raw, hex);
    assert_string_equal(hex, expected);
}

/* RFC 4231, cases 1, 2 and 6 */
static void test_hmac(void **state)
{
    unsigned char key[131];
    memset(key, 0x0b, 20);
    check_hmac(key, 20, "Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    check_hmac("Jefe", 4, "what do ya want for nothing?",
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    memset(key, 0xaa, sizeof key);
    check_hmac(key, sizeof key, "Test Using Larger Than Block-Size Key - Hash Key First",
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_public), cmocka_unit_test(test_parse),
                                       cmocka_unit_test(test_hmac)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
