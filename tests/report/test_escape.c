/* Escaping: what a client wrote stays text, whatever bytes it is made of. */
#include "report/html.h"
#include "support.h"

#include <string.h>

static void expect(const char *in, const char *out)
{
    struct text text = {0};
    html_text(&text, in);
    assert_string_equal(text.at ? text.at : "", out);
    text_release(&text);
}

static void test_text(void **state)
{
    (void)state;
    expect("", "");
    expect("a<b>&\"'c", "a&lt;b&gt;&amp;&quot;&#39;c");
    expect("line\nand\ttab", "line\nand\ttab");
    expect("\x01\x1b\x7f", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8d\x9e", "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x8d\x9e");
    /* overlong, surrogate, beyond Unicode, cut, a continuation alone: each damaged byte becomes one mark */
    expect("\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd");
    expect("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    expect("\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd");
    expect("\x80<", "\xef\xbf\xbd&lt;");
}

static void test_add(void **state)
{
    (void)state;
    struct text text = {0};
    html_add(&text, "<td class=\"%s\">%.3s|%5d|%lld|%zu|%.2f|%%|%c|%u</td>", "a\"b", "<<<<", 42, -7LL,
             (size_t)9, 1.5, 'x', 3u);
    assert_string_equal(text.at, "<td class=\"a&quot;b\">&lt;&lt;&lt;|   42|-7|9|1.50|%|x|3</td>");
    text_release(&text);
}

static void test_numbers(void **state)
{
    (void)state;
    char out[32];
    html_count(0, out);
    assert_string_equal(out, "0");
    html_count(1234567, out);
    assert_string_equal(out, "1,234,567");
    html_count(UINT64_MAX, out);
    assert_string_equal(out, "18,446,744,073,709,551,615");
    html_format_bytes(2500000, out);
    assert_string_equal(out, "2.5 MB");
    html_format_time(999, out);
    assert_string_equal(out, "0.999 ns");
    html_format_time(0, out); /* an axis begins at nothing */
    assert_string_equal(out, "0");
    html_format_time(2.5e9, out);
    assert_string_equal(out, "2.5 ms");
}

/* no point, one point, equal values, and values beyond the range: always a whole picture */
static void test_plot(void **state)
{
    (void)state;
    double x[3] = {0, 0, 5}, y[3] = {1, 1, 1e300};
    for (uint32_t count = 0; count <= 3; count++) {
        struct html_line line = {"l", x, y, count, 0, true, true};
        struct html_plot plot = {.title = "<t>",
                                 .x_name = "x",
                                 .x_format = html_format_count,
                                 .y_format = html_format_number,
                                 .x_high = 5,
                                 .y_high = 1,
                                 .lines = &line,
                                 .line_count = 1};
        struct text text = {0};
        html_plot(&text, &plot);
        assert_true(text.size > 100 && text.size < 10000);
        assert_non_null(strstr(text.at, "aria-label=\"&lt;t&gt;\""));
        assert_string_equal(text.at + text.size - 6, "</svg>");
        assert_null(strstr(text.at, "nan"));
        assert_null(strstr(text.at, "inf"));
        text_release(&text);
    }
}

/* axes without length, and whose marks numbers of 53 bits cannot tell apart: they end */
static void test_plot_of_a_point(void **state)
{
    (void)state;
    double at[2] = {7, 7};
    struct html_line line = {"l", at, at, 2, 0, true, true};
    for (double where = 0; where < 1e18; where = where * 1e17 + 7) {
        struct html_plot plot = {.title = "t",
                                 .x_name = "x",
                                 .x_format = html_format_count,
                                 .y_format = html_format_number,
                                 .x_low = where,
                                 .x_high = where,
                                 .y_low = where,
                                 .y_high = where,
                                 .lines = &line,
                                 .line_count = 1};
        struct text text = {0};
        html_plot(&text, &plot);
        assert_true(text.size > 100 && text.size < 10000);
        text_release(&text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plot_of_a_point), cmocka_unit_test(test_text),
                                       cmocka_unit_test(test_add), cmocka_unit_test(test_numbers),
                                       cmocka_unit_test(test_plot)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
