#!/usr/bin/env python3
# label: service
# timeout: 200
"""Bad input as one table: what is sent, the exact status and problem code, and where the answer must point.

After every row the server still answers, and at the end nothing is left: no job, no temporary file, no descriptor, and the
counters have counted what was answered. Slow clients and large modules are in test_bad_http.py."""
import concurrent.futures
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

H = b"Host: localhost\r\n"
CLOSE = b"Connection: close\r\n"
JSON = b"Content-Type: application/json\r\n"
FORM = b"Content-Type: multipart/form-data; boundary=b\r\n"
MODULE = b"module @m { func.func public @main() { return } }\n"
DIGEST = hashlib.sha256(MODULE).hexdigest()
SMUGGLED = b"0\r\n\r\nGET /v1/limits HTTP/1.1\r\nHost: localhost\r\n\r\n"
TWICE = b"--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{}\r\n"
REQUEST = b'{"mesh":{"axes":[{"name":"d","size":8}]},"device":"a100-40","module":{"inline":"m"}'
TABLE = b'{"collectives":[{"kind":"all_reduce","devices":8,"between_hosts":false,"points":[[1,2],[3,4]]}]}'
SEGMENT = (b'{"segments":[{"segment":"s","configurations":[{"configuration":"a","time_us":1},{"configuration":"b","time_us":2}]}]}')
PROBLEM = (b'{"intervals":[[0,4],[2,6]],"costs":[[1,2],[3,4]],"usages":[[5,6],[7,8]],'
           b'"edges":{"nodes":[[0,1]],"costs":[[1,2,3,9]]},"usage_limit":99}')
NOISE = bytes((i * 197 + (i >> 3) * 31) & 255 for i in range(5000))
DAMAGED = gzip.compress(NOISE)[:500] + b"\xff" * 100
DAMAGED_PART = (b"--b\r\nContent-Disposition: form-data; name=\"module\"\r\n\r\n" + DAMAGED + b"\r\n"
                b"--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n"
                b'{"mesh":{"axes":[{"name":"d","size":8}]},"device":"a100-40"}\r\n--b--\r\n')
PAGE = "a page for people, with the message in it"


def post(path, body, headers=b"", length=None):
    length = len(body) if length is None else length
    return (b"POST " + path.encode() + b" HTTP/1.1\r\n" + H + headers + b"Content-Length: %d\r\n\r\n" % length) + body


def get(path, headers=b""):
    return b"GET " + path + b" HTTP/1.1\r\n" + H + headers + CLOSE + b"\r\n"


def job(body, kind=JSON):
    return post("/v1/jobs", body, kind + CLOSE)


def field(text):
    return job(REQUEST + b"," + text + b"}")


def module(body, headers=b""):
    return post("/v1/modules", body, headers + CLOSE)


def profile(body, name=b"p", kind=JSON):
    return (b"PUT /v1/profiles/" + name + b" HTTP/1.1\r\n" + H + kind + CLOSE + b"Content-Length: %d\r\n\r\n" % len(body)) + body


def problem(old=b"", new=b"", query=""):
    return post("/v1/problems:solve" + query, PROBLEM.replace(old, new), JSON + CLOSE)


def head(method_path, *headers):
    return method_path + b" HTTP/1.1\r\n" + b"".join(h + b"\r\n" for h in headers) + b"\r\n"


def nested(depth):
    return b"[" * depth + b"]" * depth


# (group: the line of the design's table; name; bytes; status; problem code or PAGE; what else must hold)
# what else: "/pointer" = errors[0].pointer; (line, column); None
ROWS = [
    ("length and coding", "both", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 4", b"Transfer-Encoding: chunked")
     + SMUGGLED, 400, "malformed_request", None),
    ("length and coding", "coding first", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked", b"Content-Length: 4")
     + SMUGGLED, 400, "malformed_request", None),
    ("two lengths", "different", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 4", b"Content-Length: 5") + b"abcde",
     400, "malformed_request", None),
    ("two lengths", "equal", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 4", b"Content-Length: 4") + b"abcd",
     400, "malformed_request", None),
    ("coding", "gzip, chunked", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n",
     501, "not_implemented", None),
    ("coding", "twice", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: gzip", b"Transfer-Encoding: chunked")
     + b"0\r\n\r\n", 501, "not_implemented", None),
    ("coding", "xchunked", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: xchunked") + SMUGGLED, 501, "not_implemented",
     None),
    ("coding", "in HTTP/1.0", b"POST /v1/modules HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + SMUGGLED, 400,
     "malformed_request", None),
    ("header", "space before the colon of the length", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length : 4") + SMUGGLED,
     400, "malformed_request", None),
    ("header", "space before the colon of the coding", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 4",
                                                             b"Transfer-Encoding : chunked") + SMUGGLED, 400, "malformed_request", None),
    ("header", "tab before the coding", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 4", b"Transfer-Encoding:\tchunked")
     + SMUGGLED, 400, "malformed_request", None),
    ("header", "folded coding", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding:\r\n chunked", b"Content-Length: 4")
     + SMUGGLED, 400, "malformed_request", None),
    ("header", "folded length", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 4\r\n 5") + b"abcde", 400,
     "malformed_request", None),
    ("header", "a coding in a folded line", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 4",
                                                  b"X: y\r\n Transfer-Encoding: chunked") + SMUGGLED, 400, "malformed_request", None),
    ("header", "folded first", head(b"POST /v1/modules", b" Content-Length: 4", b"Host: localhost") + b"abcd", 400, "malformed_request", None),
    ("header", "name of two words", head(b"GET /livez", b"Host: localhost", b"X Y: z", b"Connection: close"), 400, "malformed_request", None),
    ("header", "bare carriage return", head(b"GET /livez", b"Host: localhost", b"X: y\rZ: z", b"Connection: close"), 400,
     "malformed_request", None),
    ("header", "control character", head(b"GET /livez", b"Host: localhost", b"X: \x01", b"Connection: close"), 400, "malformed_request", None),
    ("header", "no colon", head(b"GET /livez", b"Host: localhost", b"nonsense", b"Connection: close"), 400, "malformed_request", None),
    ("header", "NUL in a name", head(b"GET /livez", b"Host: localhost", b"a\0b: c", b"Connection: close"), 400, "malformed_request", None),
    ("header", "two credentials", head(b"GET /v1/jobs", b"Host: localhost", b"Authorization: Bearer a", b"Authorization: Bearer b",
                                        b"Connection: close"), 400, "malformed_request", None),
    ("chunk", "not hexadecimal", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked") + b"zz\r\nabc\r\n0\r\n\r\n",
     400, "malformed_request", None),
    ("chunk", "negative", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked") + b"-1\r\nabc\r\n0\r\n\r\n", 400,
     "malformed_request", None),
    ("chunk", "above 2^64", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked") + b"f" * 17 + b"\r\nabc\r\n0\r\n\r\n",
     413, "too_large", None),
    ("chunk", "longer than it says", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked") + b"3\r\nabcd\r\n0\r\n\r\n",
     400, "malformed_request", None),
    ("chunk", "trailers of 100 kB", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked") + b"3\r\nabc\r\n0\r\nX: "
     + b"a" * 100000 + b"\r\n\r\n", 431, "headers_too_large", None),
    ("header", "NUL in a value", head(b"GET /livez", b"Host: localhost", b"X: a\0b", b"Connection: close"), 400, "malformed_request", None),
    ("header", "NUL at the end of a value", head(b"GET /livez", b"Host: localhost", b"X: a\0", b"Connection: close"), 400, "malformed_request", None),
    ("header", "NUL at the start of a value", head(b"GET /livez", b"Host: localhost", b"X: \0a", b"Connection: close"), 400, "malformed_request", None),
    ("header", "two NUL in a value", head(b"GET /livez", b"Host: localhost", b"X: a\0\0b", b"Connection: close"), 400, "malformed_request", None),
    ("header", "NUL in the last value", head(b"GET /livez", b"Host: localhost", b"Connection: close", b"Y: y\0\0"), 400, "malformed_request", None),
    ("header", "NUL in a credential", head(b"GET /v1/jobs", b"Host: localhost", b"Authorization: Bearer a\0b"), 400, "malformed_request", None),
    ("header", "NUL in the length", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 4\0") + b"abcd", 400, "malformed_request", None),
    ("chunk", "line feed alone after the size", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked", b"Connection: close")
     + b"3\nabc\r\n0\r\n\r\n", 400, "malformed_request", None),
    ("chunk", "line feed alone after the bytes", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked", b"Connection: close")
     + b"3\r\nabc\n0\r\n\r\n", 400, "malformed_request", None),
    ("chunk", "line feed alone after the last size", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked", b"Connection: close")
     + b"3\r\nabc\r\n0\n\r\n", 400, "malformed_request", None),
    ("chunk", "line feed alone at the end", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked", b"Connection: close")
     + b"3\r\nabc\r\n0\r\n\n", 400, "malformed_request", None),
    ("chunk", "line feed alone after a trailer", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked", b"Connection: close")
     + b"3\r\nabc\r\n0\r\nX: y\n\r\n", 400, "malformed_request", None),
    ("chunk", "NUL in a trailer", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked", b"Connection: close")
     + b"3\r\nabc\r\n0\r\nX: \0\r\n\r\n", 400, "malformed_request", None),
    ("chunk", "line feed alone after an extension", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked", b"Connection: close")
     + b"3;x\nabc\r\n0\r\n\r\n", 400, "malformed_request", None),
    ("chunk", "nothing but line feeds", head(b"POST /v1/modules", b"Host: localhost", b"Transfer-Encoding: chunked", b"Connection: close")
     + b"3\nabc\n0\n\n", 400, "malformed_request", None),
    ("length", "a list", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 4, 4") + b"abcd", 400, "malformed_request", None),
    ("length", "hexadecimal", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 0x4") + b"abcd", 400, "malformed_request", None),
    ("length", "2^63", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 9223372036854775808"), 413, "too_large", None),
    ("length", "600 MB after Expect: 100-continue", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 600000000",
                                                          b"Expect: 100-continue"), 413, "too_large", None),
    ("length", "negative", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: -1"), 400, "malformed_request", None),
    ("length", "with a sign", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: +2") + b"ab", 400, "malformed_request", None),
    ("length", "10^22", head(b"POST /v1/modules", b"Host: localhost", b"Content-Length: 10000000000000000000000"), 413, "too_large", None),
    ("length", "none", head(b"POST /v1/modules", b"Host: localhost"), 411, "length_required", None),
    ("path", "NUL", get(b"/livez%00x"), 400, "malformed_request", None),
    ("path", "%2e%2e", get(b"/v1/%2e%2e/livez"), 400, "malformed_request", None),
    ("path", "..", get(b"/v1/../livez"), 400, "malformed_request", None),
    ("path", "..%2f", get(b"/v1/..%2flivez"), 400, "malformed_request", None),
    ("path", ".", get(b"/./livez"), 400, "malformed_request", None),
    ("path", "//", get(b"//livez"), 400, "malformed_request", None),
    ("path", "%zz", get(b"/livez%zz"), 400, "malformed_request", None),
    ("path", "%2", get(b"/livez%2"), 400, "malformed_request", None),
    ("path", "%25", get(b"/livez%2500"), 400, "malformed_request", None),
    ("path", "overlong UTF-8", get(b"/livez%c0%af"), 400, "malformed_request", None),
    ("path", "line end", get(b"/livez%0d%0aX:%20y"), 400, "malformed_request", None),
    ("path", "without /", get(b"livez"), 400, "malformed_request", None),
    ("path", "*", head(b"OPTIONS *", b"Host: localhost", b"Connection: close"), 400, "malformed_request", None),
    ("path", "unknown", get(b"/v2/jobs"), 404, "not_found", None),
    ("Host", "none", head(b"GET /livez", b"Connection: close"), 400, "malformed_request", None),
    ("Host", "two", head(b"GET /livez", b"Host: a", b"Host: b", b"Connection: close"), 400, "malformed_request", None),
    ("size", "header of 20 kB", get(b"/livez", b"X: " + b"a" * 20000 + b"\r\n"), 431, "headers_too_large", None),
    ("size", "header of 100 kB", get(b"/livez", b"X: " + b"a" * 100000 + b"\r\n"), 431, "headers_too_large", None),
    ("size", "3,000 headers", get(b"/livez", b"".join(b"X%d: y\r\n" % i for i in range(3000))), 431, "headers_too_large", None),
    ("size", "URL of 10 kB", get(b"/" + b"a" * 10000), 414, "uri_too_long", None),
    ("size", "URL of 100 kB", get(b"/" + b"a" * 100000), 414, "uri_too_long", None),
    ("size", "query of 10 kB", get(b"/v1/jobs?state=" + b"a" * 10000), 414, "uri_too_long", None),
    ("protocol", "HTTP/2's preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "http_version", None),
    ("protocol", "HTTP/1.2", head(b"GET /livez", b"Host: localhost").replace(b"1.1", b"1.2"), 505, "http_version", None),
    ("protocol", "HTTP/0.9", b"GET /livez\r\n\r\n", 400, "malformed_request", None),
    ("protocol", "TRACE", head(b"TRACE /livez", b"Host: localhost", b"Connection: close"), 405, "method_not_allowed", None),
    ("protocol", "CONNECT", head(b"CONNECT x:80", b"Host: localhost", b"Connection: close"), 400, "malformed_request", None),
    ("protocol", "absolute address", head(b"GET http://x/livez", b"Host: localhost", b"Connection: close"), 400, "malformed_request", None),
    ("protocol", "HTTP/3.7", b"GET /livez HTTP/3.7\r\n" + H + b"\r\n", 505, "http_version", None),
    ("protocol", "unknown method", b"BREW /livez HTTP/1.1\r\n" + H + CLOSE + b"\r\n", 405, "method_not_allowed", None),
    ("protocol", "wrong method", b"PATCH /v1/jobs HTTP/1.1\r\n" + H + CLOSE + b"\r\n", 405, "method_not_allowed", None),
    ("protocol", "a body for GET", head(b"GET /livez", b"Host: localhost", b"Content-Length: 3", b"Connection: close") + b"abc",
     400, "malformed_request", None),
    ("protocol", "range outside", get(b"/v1/modules/" + DIGEST.encode(), b"Range: bytes=999-\r\n"), 416, "range_not_satisfiable",
     None),
    ("module", "wrong digest", head(b"PUT /v1/modules/" + b"0" * 64, b"Host: localhost", b"Content-Length: 3", b"Connection: close") + b"abc",
     400, "malformed_request", None),
    ("module", "no digest", head(b"PUT /v1/modules/..etc", b"Host: localhost", b"Content-Length: 3", b"Connection: close") + b"abc",
     400, "malformed_request", None),
    ("module", "says gzip, is not", module(b"abc", b"Content-Encoding: gzip\r\n"), 422, "invalid_gzip", None),
    ("module", "says gzip, is empty", module(b"", b"Content-Encoding: gzip\r\n"), 422, "invalid_gzip", None),
    ("module", "says br", module(b"abc", b"Content-Encoding: br\r\n"), 415, "unsupported_media_type", None),
    ("module", "says two encodings", module(b"abc", b"Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n"), 415,
     "unsupported_media_type", None),
    ("module", "too large by its header", post("/v1/modules", b"", length=600 << 20), 413, "too_large", None),
    ("module", "0 bytes", module(b""), 422, "invalid_module", None),
    ("gzip", "bomb", module(gzip.compress(bytes(64 << 20))), 422, "invalid_gzip", None),
    ("gzip", "bomb behind noise", module(gzip.compress(NOISE * 20 + bytes(64 << 20))), 422, "invalid_gzip", None),
    ("gzip", "nested", module(gzip.compress(gzip.compress(MODULE))), 422, "invalid_gzip", None),
    ("gzip", "cut off", module(gzip.compress(NOISE)[:-9]), 422, "invalid_gzip", None),
    ("gzip", "cut in its head", module(gzip.compress(NOISE)[:5]), 422, "invalid_gzip", None),
    ("gzip", "bad CRC", module(gzip.compress(b"abc")[:-8] + b"12345678"), 422, "invalid_gzip", None),
    ("gzip", "bad length", module(gzip.compress(b"abc")[:-4] + b"1234"), 422, "invalid_gzip", None),
    ("gzip", "bytes behind", module(gzip.compress(b"abc") + b"more"), 422, "invalid_gzip", None),
    ("gzip", "request damaged", job(gzip.compress(b"{}")[:-3], JSON + b"Content-Encoding: gzip\r\n"), 422, "invalid_gzip", None),
    ("gzip", "part damaged", job(DAMAGED_PART, FORM), 422, "invalid_gzip", "module"),
    ("gzip", "part of price damaged", post("/v1/price", DAMAGED_PART, FORM + CLOSE), 422, "invalid_gzip", "module"),
    ("gzip", "inline", job(b'{"module": {"inline": "\\u001fx"}, "mesh": {"axes": [{"name": "d", "size": 2}]}, "device": "h100"}'),
     422, "invalid_gzip", "/module/inline"),
    ("gzip", "request bomb", job(gzip.compress(b" " * (8 << 20)), JSON + b"Content-Encoding: gzip\r\n"), 413, "too_large", None),
    ("JSON", "1 MiB and a byte", job(b" " * ((1 << 20) + 1)), 413, "too_large", None),
    ("JSON", "no type", job(b"{}", b""), 415, "unsupported_media_type", None),
    ("JSON", "form type", job(b"a=b", b"Content-Type: application/x-www-form-urlencoded\r\n"), 415, "unsupported_media_type", None),
    ("JSON", "two types", job(b"{}", JSON + FORM), 400, "malformed_request", None),
    ("JSON", "empty", job(b""), 400, "invalid_json", (1, 1)),
    ("JSON", "blank", job(b"\n\n  "), 400, "invalid_json", (3, 2)),
    ("JSON", "scalar", job(b"3"), 400, "invalid_json", (1, 1)),
    ("JSON", "2,049 deep", job(nested(2049)), 400, "invalid_json", (1, 2049)),
    ("JSON", "2,048 deep", job(nested(2048)), 422, "invalid_request", None),
    ("JSON", "duplicate key", job(b'{"seed":1,\n "seed":2}'), 400, "invalid_json", (2, 7)),
    ("JSON", "duplicate key below", job(b'{"mesh":{"axes":[],"axes":[]}}'), 400, "invalid_json", (1, 25)),
    ("JSON", "NUL", job(b'{"a":"\x00"}'), 400, "invalid_json", (1, 6)),
    ("JSON", "NUL behind", job(b'{}\x00'), 400, "invalid_json", (1, 3)),
    ("JSON", "escaped NUL", job(b'{"device":"\\u0000"}'), 400, "invalid_json", (1, 18)),
    ("JSON", "escaped NUL in a key", job(b'{"a\\u0000b":1}'), 400, "invalid_json", (1, 11)),
    ("JSON", "lone surrogate", job(b'{"device":"\\ud800"}'), 400, "invalid_json", (1, 18)),
    ("JSON", "low surrogate", job(b'{"device":"\\udc00"}'), 400, "invalid_json", (1, 18)),
    ("JSON", "bad UTF-8", job(b'{"device":"\xff"}'), 400, "invalid_json", (1, 11)),
    ("JSON", "overlong UTF-8", job(b'{"device":"\xc0\x80"}'), 400, "invalid_json", (1, 11)),
    ("JSON", "surrogate in UTF-8", job(b'{"device":"\xed\xa0\x80"}'), 400, "invalid_json", (1, 11)),
    ("JSON", "byte order mark", job(b"\xef\xbb\xbf{}"), 400, "invalid_json", (1, 1)),
    ("JSON", "UTF-16", job('{"seed":1}'.encode("utf-16")), 400, "invalid_json", (1, 1)),
    ("JSON", "NaN", job(b'{"seed":NaN}'), 400, "invalid_json", (1, 11)),
    ("JSON", "Infinity", job(b'{"seed":-Infinity}'), 400, "invalid_json", (1, 9)),
    ("JSON", "1e400", job(b'{"deadline_s":1e400}'), 400, "invalid_json", (1, 19)),
    ("JSON", "2^63", job(b'{"seed":9223372036854775808}'), 400, "invalid_json", (1, 27)),
    ("JSON", "-2^63-1", job(b'{"seed":-9223372036854775809}'), 400, "invalid_json", (1, 28)),
    ("JSON", "trailing bytes", job(b"{} x"), 400, "invalid_json", (1, 4)),
    ("JSON", "trailing comma", job(b'{"seed":1,}'), 400, "invalid_json", (1, 11)),
    ("JSON", "comment", job(b'{/**/}'), 400, "invalid_json", (1, 2)),
    ("JSON", "single quotes", job(b"{'seed':1}"), 400, "invalid_json", (1, 2)),
    ("JSON", "cut in a string", job(b'{"device":"a100'), 400, "invalid_json", (1, 15)),
    ("JSON", "100,000 keys in 1 MB", job(b"{" + b",".join(b'"%x":0' % i for i in range(80000)) + b"}"), 400, "invalid_json", None),
    ("JSON", "500,000 values in 1 MB", job(b'{"outputs":[' + b"0," * 500000 + b"0]}"), 400, "invalid_json", None),
    ("JSON", "300,000 empty lists in 1 MB", job(b'{"outputs":[' + b"[]," * 300000 + b"0]}"), 400, "invalid_json", None),
    ("fields", "an array", job(b"[]"), 422, "invalid_request", None),
    ("fields", "no module", job(b'{"mesh":{"axes":[{"name":"d","size":8}]},"device":"a100-40"}'), 422, "invalid_request", "/module"),
    ("fields", "unknown", field(b'"sed":1'), 422, "invalid_request", "/sed"),
    ("fields", "unknown below", job(REQUEST.replace(b'"size"', b'"sice"') + b"}"), 422, "invalid_request", "/mesh/axes/0/sice"),
    ("fields", "1.0 for an integer", field(b'"seed":1.0'), 422, "invalid_request", "/seed"),
    ("fields", "1e3 for an integer", field(b'"seed":1e3'), 422, "invalid_request", "/seed"),
    ("fields", "text for an integer", field(b'"seed":"1"'), 422, "invalid_request", "/seed"),
    ("fields", "null for an integer", field(b'"seed":null'), 422, "invalid_request", "/seed"),
    ("fields", "true for an integer", field(b'"seed":true'), 422, "invalid_request", "/seed"),
    ("fields", "1 for a boolean", field(b'"proof":1'), 422, "invalid_request", "/proof"),
    ("fields", "an object for a list", field(b'"outputs":{}'), 422, "invalid_request", "/outputs"),
    ("fields", "a list for an object", field(b'"budget":[]'), 422, "invalid_request", "/budget"),
    ("fields", "negative budget", field(b'"budget":{"rollouts":-1}'), 422, "invalid_request", "/budget/rollouts"),
    ("fields", "budget of 0", field(b'"budget":{"rollouts":0}'), 422, "invalid_request", "/budget/rollouts"),
    ("fields", "negative seconds", field(b'"budget":{"seconds":-0.5}'), 422, "invalid_request", "/budget/seconds"),
    ("fields", "negative memory", field(b'"memory_limit_bytes":-1'), 422, "invalid_request", "/memory_limit_bytes"),
    ("fields", "negative seed", field(b'"seed":-1'), 422, "invalid_request", "/seed"),
    ("fields", "parallelism of 257", field(b'"parallelism":257'), 422, "invalid_request", "/parallelism"),
    ("fields", "deadline in the past", field(b'"deadline_s":-5'), 422, "invalid_request", "/deadline_s"),
    ("fields", "axis of size 0", job(REQUEST.replace(b"8}", b"0}") + b"}"), 422, "invalid_mesh", "/mesh/axes"),
    ("fields", "axis of size -2^63", job(REQUEST.replace(b"8}", b"-9223372036854775808}") + b"}"), 422, "invalid_mesh", "/mesh/axes"),
    ("fields", "2^20 devices and one more", job(REQUEST.replace(b"8}", b"1048577}") + b"}"), 422, "invalid_mesh", "/mesh/axes"),
    ("fields", "product above 2^20", job(REQUEST.replace(b"8}", b'2048},{"name":"e","size":1024}') + b"}"), 422, "invalid_mesh",
     "/mesh/axes"),
    ("fields", "product that overflows", job(REQUEST.replace(b"8}", b'4294967296},{"name":"e","size":4294967296}') + b"}"), 422,
     "invalid_mesh", "/mesh/axes"),
    ("fields", "axis name twice", job(REQUEST.replace(b"8}", b'8},{"name":"d","size":2}') + b"}"), 422, "invalid_mesh", "/mesh/axes"),
    ("fields", "axis name with markup", job(REQUEST.replace(b'"d"', b'"<script>"') + b"}"), 422, "invalid_mesh", "/mesh/axes"),
    ("fields", "axis name empty", job(REQUEST.replace(b'"d"', b'""') + b"}"), 422, "invalid_mesh", "/mesh/axes"),
    ("fields", "nine axes", job(REQUEST.replace(b"8}", b"1}" + b"".join(b',{"name":"a%d","size":1}' % i for i in range(8))) + b"}"),
     422, "invalid_request", "/mesh/axes"),
    ("fields", "no mesh", job(b'{"module":{"inline":"m"},"device":"a100-40"}'), 422, "invalid_mesh", "/mesh"),
    ("fields", "unknown device", job(REQUEST.replace(b"a100-40", b"abacus") + b"}"), 422, "unknown_device", "/device"),
    ("fields", "unknown planner", field(b'"planner":"oracle"'), 422, "invalid_request", "/planner"),
    ("fields", "not in this build", field(b'"objective":"pareto"'), 422, "not_available", "/objective"),
    ("fields", "constraint on no axis", field(b'"constraints":[{"argument":"w","dims":[["z"]]}]'), 422, "invalid_constraint",
     "/constraints/0/dims/0/0"),
    ("fields", "1,001 constraints", field(b'"constraints":[' + b",".join([b'{"argument":"w*","dims":[]}'] * 1001) + b"]"), 422,
     "invalid_request", "/constraints"),
    ("fields", "label that is no text", field(b'"labels":{"a":1}'), 422, "invalid_request", "/labels/a"),
    ("fields", "65 labels", field(b'"labels":{' + b",".join(b'"%d":""' % i for i in range(65)) + b"}"), 422, "invalid_request",
     "/labels"),
    ("fields", "module by URL", job(REQUEST.replace(b'{"inline":"m"}', b'{"url":"http://169.254.169.254/"}') + b"}"), 422,
     "invalid_request", "/module/url"),
    ("fields", "module unknown", job(REQUEST.replace(b'{"inline":"m"}', b'"sha256:' + b"0" * 64 + b'"') + b"}"), 422,
     "invalid_request", "/module"),
    ("fields", "module empty", job(REQUEST.replace(b'"m"', b'""') + b"}"), 422, "invalid_module", None),
    ("multipart", "no boundary", job(b"x", b"Content-Type: multipart/form-data\r\n"), 400, "malformed_request", None),
    ("multipart", "boundary of 71", job(b"x", b"Content-Type: multipart/form-data; boundary=" + b"b" * 71 + b"\r\n"), 400,
     "malformed_request", None),
    ("multipart", "empty", job(b"", FORM), 400, "malformed_request", None),
    ("multipart", "no start", job(b"x", FORM), 400, "malformed_request", None),
    ("multipart", "no end", job(TWICE, FORM), 400, "malformed_request", None),
    ("multipart", "a part twice", job(TWICE + TWICE + b"--b--\r\n", FORM), 422, "invalid_request", None),
    ("multipart", "an unknown part", job(TWICE.replace(b"request", b"quest") + b"--b--\r\n", FORM), 422, "invalid_request", None),
    ("multipart", "nine parts", job(TWICE * 9 + b"--b--\r\n", FORM), 400, "malformed_request", None),
    ("multipart", "bytes behind", job(TWICE + b"--b--\r\nmore", FORM), 400, "malformed_request", None),
    ("multipart", "bare line feeds", job(TWICE.replace(b"\r\n", b"\n") + b"--b--\n", FORM), 400, "malformed_request", None),
    ("multipart", "no name", job(TWICE.replace(b' name="request"', b"") + b"--b--\r\n", FORM), 400, "malformed_request", None),
    ("multipart", "base64", job(TWICE.replace(b"\r\n\r\n", b"\r\nContent-Transfer-Encoding: base64\r\n\r\n") + b"--b--\r\n", FORM),
     400, "malformed_request", None),
    ("multipart", "compressed", job(TWICE + b"--b--\r\n", FORM + b"Content-Encoding: gzip\r\n"), 415, "unsupported_media_type", None),
    ("token", "forged", get(b"/v1/jobs?page_token=1-j_x"), 400, "malformed_request", "page_token"),
    ("token", "damaged escape", get(b"/v1/jobs?page_token=%zz"), 400, "malformed_request", "page_token"),
    ("token", "page of -1", get(b"/v1/jobs?page_size=-1"), 400, "malformed_request", "page_size"),
    ("token", "page of many digits", get(b"/v1/jobs?page_size=99999999999999999999999999"), 400, "malformed_request", "page_size"),
    ("query", "dry_run beside the request", post("/v1/jobs?dry_run=true", REQUEST + b"}", JSON + CLOSE), 400, "unknown_parameter",
     "dry_run"),
    ("query", "no such parameter", get(b"/v1/jobs?status=failed"), 400, "unknown_parameter", "status"),
    ("query", "where there are none", get(b"/livez?verbose=1"), 400, "unknown_parameter", "verbose"),
    ("query", "of another route", get(b"/v1/limits?page_size=1"), 400, "unknown_parameter", "page_size"),
    ("query", "beginning of a name", get(b"/v1/jobs?page=1"), 400, "unknown_parameter", "page"),
    ("query", "a name and more", get(b"/v1/jobs?states=failed"), 400, "unknown_parameter", "states"),
    ("query", "the mark of those that repeat", get(b"/v1/jobs?label*=a=b"), 400, "unknown_parameter", "label*"),
    ("query", "no name", get(b"/v1/jobs?=failed"), 400, "unknown_parameter", None),
    ("query", "markup for a name", get(b"/v1/jobs?<b>\xff=1"), 400, "unknown_parameter", "<b>?"),
    ("query", "a long name", get(b"/v1/jobs?" + b"n" * 5000 + b"=1"), 400, "unknown_parameter", "n" * 63),
    ("query", "twice", get(b"/v1/jobs?state=failed&state=queued"), 400, "unknown_parameter", "state"),
    ("query", "no value", get(b"/v1/jobs?state"), 400, "malformed_request", "state"),
    ("query", "an empty value", get(b"/v1/jobs?state="), 400, "malformed_request", "state"),
    ("query", "too long a value", get(b"/v1/jobs?state=" + b"f" * 100), 400, "malformed_request", "state"),
    ("query", "half an escape", get(b"/v1/jobs?state=failed%2"), 400, "malformed_request", "state"),
    ("query", "csrf where nothing is written", get(b"/v1/jobs?csrf=1"), 400, "unknown_parameter", "csrf"),
    ("query", "of a page", get(b"/ui/workers?x=1"), 400, PAGE, None),
    ("lists", "unknown state", get(b"/v1/jobs?state=nonsense"), 400, "malformed_request", "state"),
    ("lists", "label without value", get(b"/v1/jobs?label=x"), 400, "malformed_request", "label"),
    ("lists", "no time", get(b"/v1/jobs?created_after=yesterday"), 400, "malformed_request", "created_after"),
    ("lists", "month 13", get(b"/v1/jobs?created_after=2026-13-01T00:00:00Z"), 400, "malformed_request", "created_after"),
    ("lists", "comparing one", get(b"/v1/compare?jobs=j_00000000000000000000000000"), 400, "malformed_request", "jobs"),
    ("lists", "comparing markup", get(b"/v1/compare?jobs=%3Cb%3E,x"), 400, "malformed_request", "jobs"),
    ("idempotency", "empty key", job(REQUEST + b"}", JSON + b"Idempotency-Key:\r\n"), 400, "malformed_request", "Idempotency-Key"),
    ("idempotency", "key of 2,000", job(REQUEST + b"}", JSON + b"Idempotency-Key: " + b"k" * 2000 + b"\r\n"), 400,
     "malformed_request", "Idempotency-Key"),
    ("idempotency", "key that is no text", job(REQUEST + b"}", JSON + b"Idempotency-Key: \xff\r\n"), 400, "malformed_request",
     "Idempotency-Key"),
    ("idempotency", "two keys", job(REQUEST + b"}", JSON + b"Idempotency-Key: a\r\nIdempotency-Key: b\r\n"), 400,
     "malformed_request", None),
    ("price", "empty", post("/v1/price", b"", JSON + CLOSE), 400, "invalid_json", (1, 1)),
    ("price", "a number for a plan", post("/v1/price", b'{"plan":3}', JSON + CLOSE), 422, "invalid_request", "/plan"),
    ("price", "duplicate key in a plan", post("/v1/price", b'{"plan":{"mesh":{},"mesh":{}}}', JSON + CLOSE), 400, "invalid_json",
     (1, 25)),
    ("profiles", "a list", profile(b"[]"), 422, "invalid_request", None),
    ("profiles", "unknown field", profile(b'{"segment":[]}'), 422, "invalid_request", "/segment"),
    ("profiles", "segments that are no list", profile(b'{"segments":{}}'), 422, "invalid_request", "/segments"),
    ("profiles", "a segment without a name", profile(b'{"segments":[{"configurations":[{"configuration":"a","time_us":1}]}]}'), 422,
     "invalid_request", "/segments/0/segment"),
    ("profiles", "a segment without timings", profile(b'{"segments":[{"segment":"s","configurations":[]}]}'), 422, "invalid_request",
     "/segments/0/configurations"),
    ("profiles", "a segment of 129 letters", profile(b'{"segments":[{"segment":"' + b"s" * 129 + b'","configurations":[]}]}'), 422,
     "invalid_request", "/segments/0/segment"),
    ("profiles", "a configuration without its time", profile(SEGMENT.replace(b'"time_us":1', b'"runs":1')), 422, "invalid_request",
     "/segments/0/configurations/0/time_us"),
    ("profiles", "a negative time", profile(SEGMENT.replace(b'"time_us":1', b'"time_us":-1')), 422, "invalid_request",
     "/segments/0/configurations/0/time_us"),
    ("profiles", "half a byte", profile(SEGMENT.replace(b'"time_us":1', b'"time_us":1,"peak_bytes":0.5')), 422, "invalid_request",
     "/segments/0/configurations/0/peak_bytes"),
    ("profiles", "a configuration twice", profile(SEGMENT.replace(b'"b"', b'"a"')), 422, "invalid_request",
     "/segments/0/configurations/1/configuration"),
    ("profiles", "a segment twice", profile(SEGMENT.replace(b"]}]}", b"]}," + SEGMENT[13:])), 422, "invalid_request",
     "/segments/1/segment"),
    ("profiles", "unknown type of number", profile(b'{"flops":{"zz":1}}'), 422, "invalid_request", "/flops/zz"),
    ("profiles", "negative speed", profile(b'{"flops":{"bf16":-1}}'), 422, "invalid_request", "/flops/bf16"),
    ("profiles", "memory of speed 0", profile(b'{"memory_bytes_per_s":0}'), 422, "invalid_request", "/memory_bytes_per_s"),
    ("profiles", "unknown collective", profile(TABLE.replace(b"all_reduce", b"gossip")), 422, "invalid_request",
     "/collectives/0/kind"),
    ("profiles", "a collective of no device", profile(TABLE.replace(b"8", b"0")), 422, "invalid_request", "/collectives/0/devices"),
    ("profiles", "points not in order", profile(TABLE.replace(b"[3,4]", b"[1,4]")), 422, "invalid_request", "/collectives/0/points/1"),
    ("profiles", "no type", profile(b"{}", kind=b""), 415, "unsupported_media_type", None),
    ("profiles", "form type", profile(b"{}", kind=FORM), 415, "unsupported_media_type", None),
    ("profiles", "duplicate key", profile(b'{"flops":{},"flops":{}}'), 400, "invalid_json", (1, 19)),
    ("profiles", "name with markup", profile(b"{}", b"%3Cb%3E"), 400, "malformed_request", None),
    ("profiles", "name of 64", profile(b"{}", b"a" * 64), 400, "malformed_request", None),
    ("profiles", "no such", get(b"/v1/profiles/none"), 404, "not_found", None),
    ("profiles", "no version", get(b"/v1/profiles/none?version=x"), 400, "malformed_request", "version"),
    ("profiles", "asked for by a job, not there", job(REQUEST.replace(
        b'"a100-40"', b'{"base":"a100-40","profile":"none"}') + b"}"), 422, "invalid_request", "/device/profile"),
    ("session", "a number for a key", post("/ui/session", b'{"key":1}', JSON + CLOSE), 422, "invalid_request", "/key"),
    ("session", "key of 100 kB", post("/ui/session", b'{"key":"' + b"a" * 100000 + b'"}', JSON + CLOSE), 413, "too_large", None),
    ("session", "from another site", post("/ui/session", b'{"key":"x"}', JSON + CLOSE + b"Origin: http://evil\r\n"), 403, "forbidden",
     None),
    ("session", "a write from another site", job(REQUEST + b"}", JSON + b"Origin: http://evil\r\n"), 403, "forbidden", None),
    ("ids", "chosen, with markup", head(b"PUT /v1/jobs/%3Cb%3E", b"Host: localhost", JSON.strip(), b"Connection: close", b"Content-Length: 2")
     + b"{}", 400, "malformed_request", None),
    ("ids", "chosen, of 200", head(b"PUT /v1/jobs/" + b"a" * 200, b"Host: localhost", JSON.strip(), b"Connection: close",
                                    b"Content-Length: 2") + b"{}", 400, "malformed_request", None),
    ("ids", "retry of none", post("/v1/jobs/j_00000000000000000000000000:retry", b"", CLOSE), 404, "not_found", None),
    ("ids", "events of none", get(b"/v1/jobs/j_00000000000000000000000000/events"), 404, "not_found", None),
    ("ids", "no such job", get(b"/v1/jobs/j_00000000000000000000000000"), 404, "not_found", None),
    ("ids", "markup", get(b"/v1/jobs/%3Cscript%3E"), 404, "not_found", None),
    ("ids", "cancel of none", post("/v1/jobs/j_00000000000000000000000000:cancel", b"", CLOSE), 404, "not_found", None),
    ("credentials", "internal path without token", get(b"/internal/blobs/" + DIGEST.encode()), 404, "not_found", None),
    ("credentials", "internal path with a guess", get(b"/internal/blobs/" + DIGEST.encode(), b"Authorization: Bearer x\r\n"), 404,
     "not_found", None),
]


# contest files stream into the store and are read by a worker: the refusal is a failed job's, and comes as its status
PROBLEM_ROWS = [
    ("problems", "no lists", post("/v1/problems:solve", b"{}", JSON + CLOSE), 422, "invalid_request", None),
    ("problems", "scalar", post("/v1/problems:solve", b"3", JSON + CLOSE), 422, "invalid_request", None),
    ("problems", "trailing bytes", problem(b"99}", b"99} x"), 400, "invalid_json", None),
    ("problems", "cut off", problem(b'99}', b"99"), 400, "invalid_json", None),
    ("problems", "fewer usages than costs", problem(b"[5,6]", b"[5]"), 422, "invalid_request", "/usages/0"),
    ("problems", "a list of costs missing", problem(b",[3,4]]", b"]"), 422, "invalid_request", "/costs"),
    ("problems", "ragged matrix", problem(b"3,9", b"3"), 422, "invalid_request", "/edges/costs/0"),
    ("problems", "matrix missing", problem(b"[[1,2,3,9]]", b"[]"), 422, "invalid_request", "/edges/costs"),
    ("problems", "index above the nodes", problem(b"[0,1]", b"[0,2]"), 422, "invalid_request", "/edges/nodes/0"),
    ("problems", "index below 0", problem(b"[0,1]", b"[-1,1]"), 422, "invalid_request", "/edges/nodes/0/0"),
    ("problems", "index of 2^40", problem(b"[0,1]", b"[0,1099511627776]"), 422, "invalid_request", "/edges/nodes/0/1"),
    ("problems", "self edge of three costs", problem(b'[0,1]],"costs":[[1,2,3,9]', b'[1,1]],"costs":[[1,2,3]'), 422,
     "invalid_request", "/edges/costs/0"),
    ("problems", "infinite usage", problem(b"[5,6]", b"[Infinity,6]"), 422, "invalid_request", "/usages/0/0"),
    ("problems", "usage of 1e400", problem(b"[5,6]", b"[1e400,6]"), 422, "invalid_request", "/usages/0/0"),
    ("problems", "usage below 0", problem(b"[5,6]", b"[-5,6]"), 422, "invalid_request", "/usages/0/0"),
    ("problems", "half a usage", problem(b"[5,6]", b"[5.5,6]"), 422, "invalid_request", "/usages/0/0"),
    ("problems", "limit twice", problem(b"99}", b'99,"usage_limit":8}'), 422, "invalid_request", "/usage_limit"),
    ("problems", "cost of 2^63", problem(b"[3,4]", b"[3,9223372036854775808]"), 422, "invalid_request", "/costs/1/1"),
    ("problems", "limit below 0", problem(b"99", b"-1"), 422, "invalid_request", "/usage_limit"),
    ("problems", "interval turned", problem(b"[0,4]", b"[4,0]"), 422, "invalid_request", "/intervals/0"),
    ("problems", "node without values", problem(b"[1,2],[3,4]", b"[],[3,4]"), 422, "invalid_request", "/costs/0"),
    ("problems", "units that are no number", problem(query="?units=x"), 400, "malformed_request", "units"),
    ("problems", "negative seconds", problem(query="?seconds=-1"), 400, "malformed_request", "seconds"),
]


# words of the answer's detail
DETAILS = {("multipart", "a part twice"): "'request' is there twice", ("multipart", "an unknown part"): "'quest' is none of them",
           ("profiles", "no type"): "a profile is sent as application/json", ("problems", "limit twice"): "usage_limit appears twice"}


def answer_of(data):
    """-> (status, lower-case headers, body, how many answers)"""
    top, _, body = data.partition(b"\r\n\r\n")
    lines = top.split(b"\r\n")
    assert lines[0].startswith(b"HTTP/1.1 "), data[:200]
    headers = {name.lower(): value for name, value in (line.split(b": ", 1) for line in lines[1:])}
    return int(lines[0].split()[1]), headers, body, len(re.findall(rb"HTTP/1\.1 \d\d\d ", data))


def check(service, row):
    group, name, data, wanted, code, more = row
    status, headers, body, answers = answer_of(service.raw(data, timeout=20))
    assert status == wanted, f"{status} instead of {wanted}: {body[:300]}"
    assert headers.get(b"connection") == b"close" or CLOSE in data, "the connection stays open"
    assert answers == 1, "a second request was answered"
    assert headers[b"content-type"] == b"application/problem+json" or code is PAGE, headers
    assert headers[b"x-content-type-options"] == b"nosniff"
    if code is PAGE:
        assert b"text/html" in headers[b"content-type"] and b"has no parameter" in body, body
        return status
    problem = json.loads(body)
    assert problem["status"] == status and problem["code"] == code and problem["detail"], problem
    assert problem["request_id"] == headers[b"x-request-id"].decode()
    if status == 405:
        assert headers[b"allow"], headers
    if isinstance(more, tuple):
        assert (problem["line"], problem["column"]) == more, problem
    if code == "invalid_json" and group == "problems":   # a file of one line, mostly: a byte says where
        assert "byte " in problem["detail"], problem
    elif code == "invalid_json":
        assert problem["line"] >= 1 and problem["column"] >= 0, problem
    if isinstance(more, str):
        assert problem["errors"][0]["pointer"] == more, problem
    assert DETAILS.get((group, name), "") in problem["detail"], problem
    return status


def counted(service):
    """{class: number} of the requests that the server says it has answered"""
    text = service.request("GET", "/metrics")[2].decode()
    sums = {}
    for code, number in re.findall(r'^toast_http_requests_total\{[^}]*code="(\d)xx"[^}]*\} (\d+)$', text, re.M):
        sums[int(code)] = sums.get(int(code), 0) + int(number)
    return sums


def test_problems():
    service = harness.Service(workers=1)
    try:
        status, _, body = service.request("POST", "/v1/problems:solve", PROBLEM, {"Content-Type": "application/json"})
        assert status == 200 and json.loads(body)["status"] == "optimal", (status, body)   # else nothing below would say much
        failures = []
        for row in PROBLEM_ROWS:
            try:
                check(service, row)
            except (AssertionError, KeyError) as refusal:
                failures.append(f"{row[1]}: {refusal}")
        assert not failures, "\n" + "\n".join(failures)
    finally:
        service.close()


def test_table():
    service = harness.Service()
    try:
        assert service.request("PUT", "/v1/modules/" + DIGEST, MODULE)[0] == 201
        failures, got, before = [], {}, counted(service)
        for row in ROWS:
            began = time.monotonic()
            try:
                status = check(service, row)
                got[status // 100] = got.get(status // 100, 0) + 1
            except (AssertionError, KeyError) as problem:
                failures.append(f"{row[0]}: {row[1]}: {problem}")
            assert time.monotonic() - began < 30, (row[1], "it hung")
            assert service.request("GET", "/livez")[0] == 200, (row[1], "the server is gone")
        assert not failures, "\n" + "\n".join(failures)
        after = counted(service)
        for group in (4, 5):
            assert after.get(group, 0) - before.get(group, 0) == got[group], (got, before, after)
        nothing_left(service)
    finally:
        service.close()


def test_damaged_gzip():
    """which part, where in it, what to do; the command line ends as for a damaged file of its own"""
    service = harness.Service()
    try:
        for path, body, headers, part in (("/v1/modules", DAMAGED, b"", "the body: "), ("/v1/jobs", DAMAGED_PART, FORM, "the part module: "),
                                          ("/v1/problems:solve", DAMAGED, JSON, "the body: ")):
            problem = json.loads(service.raw(post(path, body, headers + CLOSE)).split(b"\r\n\r\n", 1)[1])
            assert problem["code"] == "invalid_gzip" and problem["detail"].startswith(part + "gzip data is damaged at byte "), problem
            assert 0 < int(problem["detail"].split("at byte ")[1].split()[0]) <= len(DAMAGED) and "again" in problem["detail"], problem
        (service.folder / "m.gz").write_bytes(DAMAGED)
        done = subprocess.run([harness.BIN / "toast", "submit", service.folder / "m.gz", "--mesh", "data=2", "--device", "h100"],
                              env=dict(os.environ, TOAST_URL=f"http://127.0.0.1:{service.port}"), capture_output=True, text=True)
        assert done.returncode == 6 and "damaged at byte" in done.stderr, done
    finally:
        service.close()


def nothing_left(service):
    assert service.json("GET", "/v1/jobs")[1]["jobs"] == []
    for _ in range(100):   # a connection that was cut is seen a moment later
        files = list((service.folder / "data" / "tmp").iterdir())
        spooled = [link for link in map(descriptor, os.scandir(f"/proc/{service.server.pid}/fd")) if "(deleted)" in link]
        if not files and not spooled:
            return
        time.sleep(0.05)
    raise AssertionError((files, spooled))


def descriptor(entry):
    try:
        return os.readlink(entry.path)
    except OSError:
        return ""


def test_disconnects():
    """a client goes away at byte N of each kind of upload: nothing stays behind, others are served"""
    service = harness.Service()
    try:
        form, headers = harness.multipart({"module": NOISE * 40, "request": REQUEST + b"}"})
        kind = f"Content-Type: {headers['Content-Type']}\r\n".encode()
        uploads = [post("/v1/modules", NOISE * 40), post("/v1/modules", gzip.compress(NOISE * 40)), post("/v1/jobs", form, kind),
                   post("/v1/jobs", b'{"a":"' + b"b" * 100000 + b'"}', JSON)]
        for data in uploads:
            ends = data.index(b"\r\n\r\n") + 4
            for n in (1, ends - 2, ends, ends + 1, (ends + len(data)) // 2, len(data) - 1):
                service.raw_once(data[:n], 0.02, None)
            assert service.request("GET", "/livez")[0] == 200
        nothing_left(service)
    finally:
        service.close()


def test_memory_of_bombs():
    """what expands stays within 16 MiB, 20 at the same time within 20 times 1"""
    service = harness.Service()
    try:
        bombs = [row[2] for row in ROWS if row[0] == "gzip" or "in 1 MB" in row[1]]

        def peak():
            with open(f"/proc/{service.server.pid}/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

        for bomb in bombs:   # the heap as it will be
            service.raw(bomb, timeout=20)
        before = peak()
        for bomb in bombs:
            service.raw(bomb, timeout=20)
        assert peak() - before <= 16 << 10, (before, peak())
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            list(pool.map(lambda i: service.raw(bombs[0], timeout=20), range(20)))
        assert peak() - before <= 20 << 10, (before, peak())
        assert peak() < 96 << 10, peak()
    finally:
        service.close()


def test_busy():
    """429 and 503 always say when to come back; 405 always says what is allowed"""
    service = harness.Service()
    try:
        text = json.dumps({"mesh": {"axes": [{"name": "d", "size": 8}]}, "device": "a100-40", "module": {"inline": MODULE.decode()}})
        kind = {"Content-Type": "application/json"}
        for i in range(101):
            status, headers, body = service.request("POST", "/v1/jobs", text, kind)
            if status != 202:
                break
        assert status == 429 and int(headers["retry-after"]) >= 1, (i, status, body)
        spec = json.loads(service.request("GET", "/openapi.json")[2])
        for path, methods in spec["paths"].items():
            known = {m.upper() for m in methods if m in ("get", "put", "post", "delete", "head", "patch")}
            status, headers, _ = service.request("BREW", re.sub(r"\{[^}]*\}", "x", path))
            assert status == 405, (path, status)
            assert "allow" in headers, (path, headers)
            allowed = {m.strip() for m in headers["allow"].split(",")}
            assert known <= allowed, (path, known, allowed)
        service.redis_cli("CONFIG", "SET", "maxmemory", "1mb")
        time.sleep(2.5)   # the server looks once a second
        status, headers, body = service.request("POST", "/v1/jobs", text, kind)
        assert status == 503 and int(headers["retry-after"]) >= 1, (status, body)
        service.redis.kill()
        service.redis.wait()
        for method, path in (("GET", "/v1/jobs"), ("GET", "/v1/jobs/j_00000000000000000000000000"), ("GET", "/readyz")):
            status, headers, body = service.request(method, path)
            assert status == 503 and int(headers["retry-after"]) >= 1, (path, status, headers, body)
        assert service.request("GET", "/livez")[0] == 200
    finally:
        service.close()


HEAD = "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
TAIL = "return %a : tensor<4xf32>\n}\n"
# (name, module, job.error.code, line); the column is at least 1
MODULES = [
    ("NULs", "module {\n\0\0\0}", "invalid_module", 2),
    ("not StableHLO", "hello, world\n", "invalid_module", 1),
    ("bytecode", "ML\xefR\x01\x02\x03", "unsupported_module", 1),
    ("binary", "\x7fELF\x02\x01\x01", "invalid_module", 1),
    ("500 nested regions", HEAD + '"a"() ({\n' * 500, "invalid_module", 257),
    ("500 nested types", "func.func @main(%a: " + "tuple<" * 500, "invalid_module", 1),
    ("undefined value", HEAD + "%0 = stablehlo.negate %b : tensor<4xf32>\n" + TAIL, "invalid_module", 2),
    ("value defined twice", HEAD + "%a = stablehlo.negate %a : tensor<4xf32>\n" + TAIL, "invalid_module", 2),
    ("cycle", HEAD + "%0 = stablehlo.add %1, %a : tensor<4xf32>\n%1 = stablehlo.add %0, %a : tensor<4xf32>\n" + TAIL,
     "invalid_module", 2),
    ("call cycle", "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n%0 = func.call @main(%a) : (tensor<4xf32>) -> "
     "tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}\n", "unsupported_module", 2),
    ("dimension of 2^63", "func.func @main(%a: tensor<9223372036854775808xf32>) { return }\n", "invalid_module", 1),
    ("product that overflows", "func.func @main(%a: tensor<4294967296x4294967296xf32>) -> tensor<4294967296x4294967296xf32> {\n"
     "%0 = stablehlo.negate %a : tensor<4294967296x4294967296xf32>\nreturn %0 : tensor<4294967296x4294967296xf32>\n}\n",
     "invalid_module", 1),
    ("identifier of 10 MB", HEAD + "%" + "a" * 10000000 + " = stablehlo.negate %a : tensor<4xf32>\n" + TAIL, "invalid_module", 2),
    ("unterminated string", 'module attributes {a = "b\n} {}\n', "invalid_module", 1),
    ("cut off", HEAD + "%0 = stablehlo.negate", "invalid_module", 2),
    ("unknown dialect", HEAD + "%0 = vector.load %a : tensor<4xf32>\n" + TAIL, None, 2),
    ("dynamic shape", "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n%0 = stablehlo.negate %a : tensor<?xf32>\n"
     "return %0 : tensor<?xf32>\n}\n", "unsupported_module", 1),
    ("no main", "func.func private @other() { return }\n", "unsupported_module", 1),
    ("shapes that do not fit", HEAD + "%0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4xf32>) -> tensor<4xf32>\n" + TAIL,
     "invalid_module", 2),
]


def test_modules():
    """uploads are taken as they are: what is wrong in a module is its job's error, with line and column; pricing says it at once"""
    service = harness.Service(workers=1)
    try:
        request = json.dumps({"mesh": {"axes": [{"name": "d", "size": 2}]}, "device": "a100-40", "budget": {"rollouts": 1}}).encode()
        priced = json.dumps({"mesh": {"axes": [{"name": "d", "size": 2}]}, "device": "a100-40"}).encode()
        jobs, failures = [], []
        for name, text, code, line in MODULES:
            body, headers = harness.multipart({"module": text.encode("latin-1"), "request": request})
            status, _, data = service.request("POST", "/v1/jobs", body, headers)
            assert status == 202, (name, status, data)
            jobs.append(json.loads(data)["id"])
            body, headers = harness.multipart({"module": text.encode("latin-1"), "request": priced})
            status, _, data = service.request("POST", "/v1/price", body, headers)
            error = json.loads(data)
            if (status != 422 or error.get("line") != line or error.get("column", 0) < 1
                    or error["code"] not in ((code,) if code else ("invalid_module", "unsupported_module"))):
                failures.append(f"price of {name}: {status}, {error}")
        for (name, text, code, line), job_id in zip(MODULES, jobs):
            body = service.wait(job_id, 60)
            error = body["error"] or {}
            if (body["state"] != "failed" or error.get("line") != line or error.get("column", 0) < 1
                    or error["code"] not in ((code,) if code else ("invalid_module", "unsupported_module"))):
                failures.append(f"{name}: {body['state']}, {error}")
        assert not failures, "\n" + "\n".join(failures)
    finally:
        service.close()


NODES = '{"intervals":[[0,9],[3,5]],"costs":[[1,2],[0,1]],"usages":[[1,1],[1,1]]'
# (name, contest JSON, the pointer that the message names)
PROBLEMS = [
    ("not JSON", "hello", ""),
    ("empty", "", ""),
    ("cut off", NODES, ""),
    ("ragged lists", '{"intervals":[[0,9]],"costs":[[1,2]],"usages":[[1]]}', ""),
    ("ragged matrix", NODES + ',"edges":{"nodes":[[0,1]],"costs":[[1,2,3]]}}', "/edges/costs/0"),
    ("bad index", NODES + ',"edges":{"nodes":[[0,7]],"costs":[[1,2,3,4]]}}', "/edges/nodes/0"),
    ("negative index", NODES + ',"edges":{"nodes":[[0,-1]],"costs":[[1,2,3,4]]}}', "/edges/nodes/0/1"),
    ("self edge too small", NODES + ',"edges":{"nodes":[[0,0]],"costs":[[1,2]]}}', "/edges/costs/0"),
    ("edge over three nodes", NODES + ',"edges":{"nodes":[[0,1,0]],"costs":[[1,2,3,4]]}}', "/edges/nodes/0/2"),
    ("infinite usage", '{"intervals":[[0,9]],"costs":[[1]],"usages":[[Infinity]]}', "/usages/0/0"),
    ("negative usage", '{"intervals":[[0,9]],"costs":[[1]],"usages":[[-1]]}', "/usages/0/0"),
    ("NaN cost", '{"intervals":[[0,9]],"costs":[[NaN]],"usages":[[1]]}', "/costs/0/0"),
    ("cost of 2^63", '{"intervals":[[0,9]],"costs":[[9223372036854775808]],"usages":[[1]]}', "/costs/0/0"),
    ("interval that ends before it begins", '{"intervals":[[9,0]],"costs":[[1]],"usages":[[1]]}', "/intervals/0"),
    ("no values", '{"intervals":[[0,9]],"costs":[[]],"usages":[[]]}', "/costs/0"),
    ("negative limit", '{"intervals":[[0,9]],"costs":[[1]],"usages":[[1]],"usage_limit":-1}', "/usage_limit"),
    ("deep", '{"a":' + "[" * 5000, "/a"),
    ("bytes behind", NODES + "} x", ""),
]


def test_contest():
    """both commands that read contest JSON refuse it with exit status 2 and say where"""
    toast = harness.BIN / "toast"
    with tempfile.TemporaryDirectory() as folder:
        path, solution = harness.pathlib.Path(folder) / "p.json", harness.pathlib.Path(folder) / "s"
        solution.write_text("[0, 0]\n")
        for name, text, pointer in PROBLEMS:
            path.write_text(text)
            for command in (["evaluate", path, "--solution", solution], ["solve", path, "--seconds", "1"]):
                done = subprocess.run([toast, *command], capture_output=True, text=True, timeout=30)
                assert done.returncode == 2 and not done.stdout, (name, command[0], done)
                assert pointer in done.stderr and "byte " in done.stderr, (name, command[0], done.stderr)
        path.write_text(NODES + "}")
        for text in ("", "[0]", "[0,2]", "[0,1,0]", "[0,-1]", "[0,1", "[0,99999999999999999999]", "none"):
            solution.write_text(text)
            done = subprocess.run([toast, "evaluate", path, "--solution", solution], capture_output=True, text=True, timeout=30)
            assert done.returncode == 2 and not done.stdout and done.stderr, (text, done)


def test_markup():
    """names that look like markup come back as data: JSON types, no sniffing, quotes escaped"""
    service = harness.Service(workers=1)
    try:
        evil = "</script><script>alert(1)</script>\"'&\\"
        text = (harness.SOURCE / "tests" / "models" / "mlp.mlir").read_text()
        request = {"mesh": {"axes": [{"name": "d", "size": 2}]}, "device": "a100-40", "budget": {"rollouts": 2},
                   "labels": {evil: evil}, "argument_names": [evil + str(i) for i in range(3)], "module": {"inline": text}}
        status, body = service.json("POST", "/v1/jobs", request)
        assert status == 202, body
        body = service.wait(body["id"])
        assert body["state"] == "succeeded" and body["labels"] == {evil: evil}, body
        assert service.json("GET", "/v1/jobs")[1]["jobs"][0]["labels"] == {evil: evil}
        for artifact in service.json("GET", f"/v1/jobs/{body['id']}/artifacts")[1]["artifacts"]:
            status, headers, data = service.request("GET", artifact["href"])
            assert headers["x-content-type-options"] == "nosniff"
            assert "html" in headers["content-type"] or "attachment" in headers["content-disposition"], headers
            if artifact["name"] == "plan.json":
                assert [a["name"] for a in json.loads(data)["arguments"]] == request["argument_names"]
            if artifact["media_type"] == "application/json":
                json.loads(data)
            if "html" in artifact["media_type"]:
                assert b"<script>alert" not in data and b"&lt;script&gt;alert" in data
                assert "default-src 'none'" in headers["content-security-policy"], headers
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_table, test_problems, test_damaged_gzip, test_disconnects, test_memory_of_bombs, test_busy, test_modules, test_contest, test_markup])
