/* NumPy's archives (npz.h): zip's central directory, each member stored or deflated, a .npy header and the
 * elements, little-endian.
 *
 *     local headers and data ..  central directory (one entry a member)  end record
 *
 * References: PKWARE, APPNOTE.TXT - .ZIP File Format Specification, version 6.3.10, 2022; NumPy Enhancement
 * Proposal 1, A Simple File Format for NumPy Arrays, 2007. */
#include "verify/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/inflate.h"
#include "base/memory.h"
#include "verify/value.h"

enum {
    END_BYTES = 22,   /* of the end record */
    ENTRY_BYTES = 46, /* of an entry of the central directory, without its name */
    LOCAL_BYTES = 30, /* of a member's own header */
    COMMENT_BYTES = 65535,
    MAX_MEMBERS = 65535,
    NPY_MAGIC_BYTES = 6
};
static const uint64_t MAX_ARRAY_BYTES = (uint64_t)4 << 30;

struct member {
    const char *name; /* without ".npy"; not ended by a 0 */
    size_t name_size;
    uint32_t method;
    uint64_t packed, size;
    const unsigned char *at; /* of `packed` bytes */
    bool used;
};

struct archive {
    const unsigned char *bytes;
    size_t size;
    struct member *members;
    uint32_t count;
};

static uint64_t little(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static enum error_code broken(struct error *e)
{
    return error_set(e, ERROR_USAGE, "the inputs are no .npz archive of NumPy (or a damaged one)");
}

/* ---- zip */
static enum error_code read_entry(const struct archive *archive, size_t *at, struct member *out,
                                  struct error *e)
{
    const unsigned char *entry = archive->bytes + *at;
    if (*at + ENTRY_BYTES > archive->size || little(entry, 4) != 0x02014b50)
        return broken(e);
    size_t name = little(entry + 28, 2), extra = little(entry + 30, 2), comment = little(entry + 32, 2);
    uint64_t local = little(entry + 42, 4);
    if (*at + ENTRY_BYTES + name + extra + comment > archive->size || local + LOCAL_BYTES > archive->size)
        return broken(e);
    *out = (struct member){.name = (const char *)entry + ENTRY_BYTES,
                           .name_size = name,
                           .method = (uint32_t)little(entry + 10, 2),
                           .packed = little(entry + 20, 4),
                           .size = little(entry + 24, 4)};
    *at += ENTRY_BYTES + name + extra + comment;
    const unsigned char *header = archive->bytes + local;
    uint64_t data = local + LOCAL_BYTES + little(header + 26, 2) + little(header + 28, 2);
    if (little(header, 4) != 0x04034b50 || data > archive->size || out->packed > archive->size - data)
        return broken(e);
    out->at = archive->bytes + data;
    if (out->name_size > 4 && memcmp(out->name + out->name_size - 4, ".npy", 4) == 0)
        out->name_size -= 4;
    return ERROR_OK;
}

static enum error_code open_archive(struct archive *archive, struct error *e)
{
    size_t end = archive->size < END_BYTES ? 0 : archive->size - END_BYTES + 1;
    size_t least = end > COMMENT_BYTES ? end - COMMENT_BYTES : 0;
    while (end > least && little(archive->bytes + end - 1, 4) != 0x06054b50)
        end--;
    if (end == least)
        return broken(e);
    const unsigned char *record = archive->bytes + end - 1;
    uint32_t count = (uint32_t)little(record + 10, 2);
    size_t at = little(record + 16, 4);
    archive->members = mem_zalloc((size_t)count + 1, sizeof *archive->members);
    for (; archive->count < count; archive->count++) {
        if (at > archive->size)
            return broken(e);
        TRY(read_entry(archive, &at, &archive->members[archive->count], e));
    }
    return ERROR_OK;
}

static enum error_code unpack(const struct member *member, unsigned char **out, struct error *e)
{
    if (member->size > MAX_ARRAY_BYTES)
        return error_set(e, ERROR_TOO_LARGE, "an array of the inputs is larger than 4 GiB");
    if ((member->method != 0 && member->method != 8) ||
        (member->method == 0 && member->size != member->packed))
        return error_set(e, ERROR_USAGE, "array '%.*s' of the inputs is packed in a way that is not read",
                         (int)(member->name_size < 80 ? member->name_size : 80), member->name);
    /* deflate shrinks to a 1030th at best: a size beyond that is a lie, and no memory is taken for it */
    if (member->size / 1100 > member->packed)
        return broken(e);
    *out = mem_alloc((size_t)member->size + 16);
    if (member->method == 0)
        memcpy(*out, member->at, (size_t)member->size);
    else if (!inflate_raw(member->at, (size_t)member->packed, *out, (size_t)member->size)) {
        free(*out);
        *out = NULL;
        return broken(e);
    }
    return ERROR_OK;
}

/* ---- npy */
struct array {
    char kind;     /* 'f', 'i', 'u', 'b', 'c', 'V' */
    int item_size; /* bytes of an element */
    bool fortran;
    uint32_t rank;
    int64_t dims[IR_MAX_RANK];
    const unsigned char *data;
};

static bool parse_shape(const char *text, struct array *out)
{
    const char *at = strstr(text, "'shape'");
    at = at ? strchr(at, '(') : NULL;
    if (!at)
        return false;
    for (at++; *at && *at != ')';) {
        if (*at == ' ' || *at == ',' || *at == 'L') {
            at++;
            continue;
        }
        char *end;
        long long dim = strtoll(at, &end, 10);
        if (end == at || dim < 0 || out->rank == IR_MAX_RANK)
            return false;
        out->dims[out->rank++] = dim;
        at = end;
    }
    return *at == ')';
}

static bool parse_npy(const unsigned char *bytes, size_t size, struct array *out, size_t *data_bytes)
{
    static const unsigned char magic[NPY_MAGIC_BYTES] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    if (size < 12 || memcmp(bytes, magic, sizeof magic) != 0)
        return false;
    int width = bytes[6] == 1 ? 2 : 4; /* version 1 has a shorter length */
    size_t head = little(bytes + 8, width), from = 8 + (size_t)width;
    if (head > size - from || head > 65536)
        return false;
    char *text = mem_strndup((const char *)bytes + from, head);
    const char *type = strstr(text, "'descr': '");
    bool good = type != NULL && strlen(type) > 13 && type[10] != '>' && parse_shape(text, out);
    if (good) {
        out->kind = type[11];
        out->item_size = atoi(type + 12);
        out->fortran = strstr(text, "'fortran_order': True") != NULL;
        out->data = bytes + from + head;
        *data_bytes = size - from - head;
    }
    free(text);
    return good;
}

/* ---- into a tensor */
static double half(uint32_t bits, enum ir_element element)
{
    return verify_decode_float(element, bits);
}

static bool type_fits(const struct array *array, enum ir_element element)
{
    enum verify_store store = verify_store_of(element);
    int width = (int)ir_element_bits(element) / 8;
    width = width ? width : 1; /* i1 and 4-bit numbers take a byte */
    if (array->item_size != width)
        return false;
    switch (store) {
    case VERIFY_U8: return array->kind == 'b';
    case VERIFY_I64: return array->kind == (verify_element_unsigned(element) ? 'u' : 'i');
    case VERIFY_C64:
    case VERIFY_C128: return array->kind == 'c';
    case VERIFY_F64: return array->kind == 'f';
    case VERIFY_F32:
        return element == IR_F32 || element == IR_F16 ? array->kind == 'f'
                                                      : array->kind == 'V' || array->kind == 'u';
    case VERIFY_NONE: break;
    }
    return false;
}

static void take_element(const struct array *array, int64_t from, struct verify_tensor *out, int64_t to)
{
    const unsigned char *at = array->data + from * array->item_size;
    switch (verify_store_of(out->element)) {
    case VERIFY_U8: ((uint8_t *)out->data)[to] = *at != 0; break;
    case VERIFY_I64: {
        uint64_t bits = little(at, array->item_size);
        int unused = 64 - 8 * array->item_size;
        ((int64_t *)out->data)[to] =
            verify_element_unsigned(out->element) ? (int64_t)bits : (int64_t)(bits << unused) >> unused;
        break;
    }
    case VERIFY_F32:
        if (out->element == IR_F32)
            memcpy((float *)out->data + to, at, 4);
        else
            ((float *)out->data)[to] = (float)half((uint32_t)little(at, array->item_size), out->element);
        break;
    case VERIFY_F64: memcpy((double *)out->data + to, at, 8); break;
    case VERIFY_C64: memcpy((float *)out->data + 2 * to, at, 8); break;
    case VERIFY_C128: memcpy((double *)out->data + 2 * to, at, 16); break;
    case VERIFY_NONE: break;
    }
}

/* ---- numbers of another type */
static bool is_complex(const struct verify_tensor *tensor)
{
    return verify_store_of(tensor->element) == VERIFY_C64 || verify_store_of(tensor->element) == VERIFY_C128;
}

/* Are these numbers whose values another type may hold? */
static bool is_number(const struct array *array, const struct verify_tensor *out)
{
    int size = array->item_size;
    if (verify_store_of(out->element) == VERIFY_NONE || is_complex(out) != (array->kind == 'c'))
        return false;
    switch (array->kind) {
    case 'b': return size == 1;
    case 'i':
    case 'u': return size == 1 || size == 2 || size == 4 || size == 8;
    case 'f': return size == 2 || size == 4 || size == 8;
    case 'c': return size == 8 || size == 16;
    default: return false;
    }
}

/* long double: has every 64-bit integer and every double */
static long double float_at(const unsigned char *at, int size)
{
    float single;
    double full;
    if (size == 2)
        return half((uint32_t)little(at, size), IR_F16);
    memcpy(&single, at, sizeof single);
    if (size == 4)
        return single;
    memcpy(&full, at, sizeof full);
    return full;
}

static long double number_at(const struct array *array, int64_t element, int part)
{
    int size = array->item_size;
    const unsigned char *at = array->data + element * size;
    if (array->kind == 'f' || array->kind == 'c')
        return float_at(at + part * (size / 2), array->kind == 'c' ? size / 2 : size);
    uint64_t bits = little(at, size);
    int unused = 64 - 8 * size;
    return array->kind == 'i' ? (long double)((int64_t)(bits << unused) >> unused) : (long double)bits;
}

/* false: the type has no such integer */
static bool put_integer(long double x, struct verify_tensor *out, int64_t to)
{
    bool is_unsigned = verify_element_unsigned(out->element);
    uint32_t bits = ir_element_bits(out->element) - !is_unsigned;
    long double end = (long double)(UINT64_C(1) << (bits - 1)) * 2, least = is_unsigned ? 0 : -end;
    if (!(x >= least && x < end))
        return false;
    int64_t integer = x < 0 ? (int64_t)x : (int64_t)(uint64_t)x;
    ((int64_t *)out->data)[to] = integer;
    return x == (is_unsigned ? (long double)(uint64_t)integer : (long double)integer);
}

/* false: the type has no such number; to: counts both parts of complex numbers */
static bool put_number(long double x, struct verify_tensor *out, int64_t to)
{
    enum verify_store store = verify_store_of(out->element);
    bool single = store == VERIFY_C64 || out->element == IR_F32;
    switch (store) {
    case VERIFY_U8: ((uint8_t *)out->data)[to] = x != 0; return x == 0 || x == 1;
    case VERIFY_I64: return put_integer(x, out, to);
    case VERIFY_F32:
    case VERIFY_C64: {
        float rounded = single ? (float)x : verify_round(out->element, (double)x);
        ((float *)out->data)[to] = rounded;
        return (long double)rounded == x || x != x;
    }
    case VERIFY_F64:
    case VERIFY_C128: ((double *)out->data)[to] = (double)x; return (long double)(double)x == x || x != x;
    case VERIFY_NONE: break;
    }
    return false;
}

/* where an element of the tensor, row-major, stands in the array */
static int64_t place_in(const struct array *array, const struct verify_tensor *out, int64_t i)
{
    int64_t rest = i, stride = 1, index[IR_MAX_RANK], from = 0;
    if (!array->fortran)
        return i;
    for (uint32_t dim = out->rank; dim-- > 0; rest /= out->dims[dim])
        index[dim] = rest % out->dims[dim];
    for (uint32_t dim = 0; dim < out->rank; stride *= out->dims[dim++]) /* the first varies fastest */
        from += index[dim] * stride;
    return from;
}

/* The first element that the tensor's type cannot hold; -1: it holds all. */
static int64_t convert_all(const struct array *array, struct verify_tensor *out)
{
    int64_t count = verify_tensor_count(out);
    int parts = is_complex(out) ? 2 : 1;
    for (int64_t i = 0; i < count; i++)
        for (int part = 0; part < parts; part++)
            if (!put_number(number_at(array, place_in(array, out, i), part), out, parts * i + part))
                return i;
    return -1;
}

static void take_all(const struct array *array, struct verify_tensor *out)
{
    int64_t count = verify_tensor_count(out);
    for (int64_t i = 0; i < count; i++)
        take_element(array, place_in(array, out, i), out, i);
}

static void add_shape(struct text *text, uint32_t rank, const int64_t *dims)
{
    for (uint32_t dim = 0; dim < rank; dim++)
        text_printf(text, "%s%lld", dim ? "," : "[", (long long)dims[dim]);
    text_add(text, rank ? "]" : "[]");
}

/* element: the first that does not fit; -1: none was looked at */
static enum error_code refuse_type(const struct member *member, const struct array *array, uint32_t argument,
                                   const struct verify_tensor *wanted, int64_t element, struct error *e)
{
    struct text text = {0};
    const char *kind = array->kind == 'f'   ? "float"
                       : array->kind == 'i' ? "int"
                       : array->kind == 'u' ? "uint"
                       : array->kind == 'c' ? "complex"
                       : array->kind == 'b' ? "bool"
                                            : "void";
    text_printf(&text, "array '%.*s' of the inputs is %s%d",
                (int)(member->name_size < 80 ? member->name_size : 80), member->name, kind,
                8 * array->item_size);
    add_shape(&text, array->rank, array->dims);
    text_printf(&text, ", argument %u is %s", argument, ir_element_name(wanted->element));
    add_shape(&text, wanted->rank, wanted->dims);
    if (element >= 0)
        text_printf(&text, ", which cannot hold %.17Lg, element %lld of it: convert the array",
                    number_at(array, place_in(array, wanted, element), 0), (long long)element);
    enum error_code code = error_set(e, ERROR_USAGE, "%s", text.at);
    text_release(&text);
    return code;
}

static enum error_code take_member(struct member *member, uint32_t argument, struct verify_tensor *out,
                                   struct error *e)
{
    struct array array = {0};
    unsigned char *bytes = NULL;
    size_t data_bytes = 0;
    int64_t wrong;
    TRY(unpack(member, &bytes, e));
    enum error_code code = ERROR_OK;
    if (!parse_npy(bytes, (size_t)member->size, &array, &data_bytes)) {
        code = broken(e);
        goto out;
    }
    bool same = array.rank == out->rank;
    for (uint32_t dim = 0; dim < out->rank && same; dim++)
        same = array.dims[dim] == out->dims[dim];
    bool fits = type_fits(&array, out->element);
    if (!same || !(fits || is_number(&array, out)))
        code = refuse_type(member, &array, argument, out, -1, e);
    else if (data_bytes / (size_t)array.item_size < (size_t)verify_tensor_count(out))
        code = broken(e);
    else if (fits)
        take_all(&array, out);
    else if ((wrong = convert_all(&array, out)) >= 0)
        code = refuse_type(member, &array, argument, out, wrong, e);
    member->used = true;
out:
    free(bytes);
    return code;
}

static struct member *find(struct archive *archive, const char *name)
{
    for (uint32_t i = 0; i < archive->count; i++)
        if (archive->members[i].name_size == strlen(name) &&
            memcmp(archive->members[i].name, name, strlen(name)) == 0)
            return &archive->members[i];
    return NULL;
}

static enum error_code take_argument(struct archive *archive, const struct ir_program *program,
                                     uint32_t argument, const char *name, uint32_t type,
                                     struct verify_tensor *out, struct error *e)
{
    char position[32], plain[32];
    snprintf(position, sizeof position, "arr_%u", argument);
    snprintf(plain, sizeof plain, "arg%u", argument);
    struct member *member = name ? find(archive, name) : NULL;
    member = member ? member : find(archive, position);
    member = member ? member : find(archive, plain);
    if (!member)
        return error_set(e, ERROR_USAGE, "the inputs have no array '%.100s' and none called %s or %s",
                         name ? name : plain, position, plain);
    TRY(verify_tensor_create(program, type, out, e));
    enum error_code code = take_member(member, argument, out, e);
    if (code)
        verify_tensor_release(out);
    return code;
}

enum error_code verify_inputs_npz(const struct ir_program *program, const char *const *names,
                                  const void *bytes, size_t size, struct verify_tensor *out, struct error *e)
{
    struct archive archive = {.bytes = bytes, .size = size};
    uint32_t block = ir_region_block(program, ir_function(program, "main"), 0), made = 0;
    enum error_code code = open_archive(&archive, e);
    for (; !code && made < program->blocks[block].arg_count; made += !code)
        code = take_argument(&archive, program, made, names ? names[made] : NULL,
                             program->values[program->blocks[block].args + made].type, &out[made], e);
    for (uint32_t i = 0; i < archive.count && !code; i++)
        if (!archive.members[i].used)
            code = error_set(e, ERROR_USAGE, "array '%.*s' of the inputs is no argument of the module",
                             (int)(archive.members[i].name_size < 80 ? archive.members[i].name_size : 80),
                             archive.members[i].name);
    for (uint32_t i = 0; i < made && code; i++)
        verify_tensor_release(&out[i]);
    free(archive.members);
    return code;
}
