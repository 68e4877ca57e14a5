/* Look-ups in the words of a catalog: near in spelling, or with a start or an end.
 *
 * `packed_words.py` calls them. Words are in UTF-16, the most frequent first, so a lower
 * number is a more frequent word. `tools/kernels.py` compiles the file.
 */
#include <stdint.h>
#include <stdlib.h>

/* The scan is compiled twice for x86-64: for processors that count bits, and for others. */
#if defined(__x86_64__)
#include <cpuid.h>
#define WITH_POPCNT __attribute__((target("popcnt")))

static int has_popcnt(void)
{
    static int known = -1; /* asking takes microseconds in a virtual machine */
    unsigned a, b, c, d;
    if (known < 0) known = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_POPCNT);
    return known;
}
#else
#define WITH_POPCNT
static int has_popcnt(void) { return 0; }
#endif

/* The order of the fields is that of `PackedWords`. */
typedef struct {
    const uint16_t *letters;
    const int64_t *offsets;
    const int32_t *by_start; /* the words in the order of their letters */
    const int32_t *by_end; /* ... of their letters from the last to the first */
    const int32_t *corrections; /* the words that may correct others, ascending */
    const uint64_t *masks; /* of the letters of each correction */
    const uint8_t *lengths; /* of each correction */
} Words;

enum { SHORT = 4, MOST_LETTERS = 60, BLOCK = 1024 };

/* Returns the letters of a word in 32 classes: a bit for one of a class, and a bit for more.
 * An edit changes two bits at most, and a swap of letters none. */
static uint64_t letter_mask(const uint16_t *letters, int64_t length)
{
    uint64_t once = 0, twice = 0;
    for (int64_t at = 0; at < length; at++) {
        uint64_t bit = (uint64_t)1 << (letters[at] & 31);
        twice |= once & bit;
        once |= bit;
    }
    return once | twice << 32;
}

void letter_masks(const Words *words, int64_t n_corrections, uint64_t *masks)
{
    for (int64_t place = 0; place < n_corrections; place++) {
        int64_t begin = words->offsets[words->corrections[place]];
        masks[place] = letter_mask(words->letters + begin, words->lengths[place]);
    }
}

/* Returns the edit distance, or more than `most` where it is more; a swap of neighbours is
 * one edit. With `of_start`, the least distance between `one` and any start of `other`. */
static int edit_distance(const uint16_t *one, int n, const uint16_t *other, int m, int most,
                         int of_start)
{
    int rows[3][MOST_LETTERS + 4];
    while (n && m && *one == *other) one++, other++, n--, m--;
    while (!of_start && n && m && one[n - 1] == other[m - 1]) n--, m--;
    if (of_start && m > n + most) m = n + most;
    if (n > MOST_LETTERS || m > MOST_LETTERS || n > m + most || m > n + most) return most + 1;
    for (int j = 0; j <= m; j++) rows[0][j] = j;
    for (int i = 1; i <= n; i++) {
        int *row = rows[i % 3], *last = rows[(i - 1) % 3], *earlier = rows[(i + 1) % 3];
        /* Only this band can be within `most` edits. */
        int begin = i > most ? i - most : 1, end = i + most < m ? i + most : m;
        int least = row[begin - 1] = begin > 1 ? most + 1 : i;
        if (i - 1 + most < m) last[i + most] = most + 1;
        for (int j = begin; j <= end; j++) {
            int cost = last[j - 1] + (one[i - 1] != other[j - 1]);
            if (last[j] + 1 < cost) cost = last[j] + 1;
            if (row[j - 1] + 1 < cost) cost = row[j - 1] + 1;
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1] &&
                earlier[j - 2] + 1 < cost)
                cost = earlier[j - 2] + 1;
            row[j] = cost;
            if (cost < least) least = cost;
        }
        if (least > most) return most + 1;
    }
    int *row = rows[n % 3], distance = m <= n + most ? row[m] : most + 1;
    for (int j = n > most ? n - most : 0; of_start && j < m; j++)
        if (row[j] < distance) distance = row[j];
    return distance;
}

/* Writes the places of a block whose letters and lengths may be within these edits, and
 * returns their number. */
static inline __attribute__((always_inline)) int64_t
filter_block(const Words *words, int64_t begin, int64_t end, uint64_t mask, int64_t length,
             int64_t max_distance, int32_t *places)
{
    int64_t size = 0;
    for (int64_t place = begin; place < end; place++) {
        int64_t difference = words->lengths[place] - length;
        places[size] = (int32_t)place; /* without a branch, which would be mispredicted */
        size += (difference <= max_distance) & (difference >= -max_distance) &
                (__builtin_popcountll(words->masks[place] ^ mask) <= 2 * max_distance);
    }
    return size;
}

WITH_POPCNT
static int64_t filter_by_popcnt(const Words *words, int64_t begin, int64_t end, uint64_t mask,
                                int64_t length, int64_t max_distance, int32_t *places)
{
    return filter_block(words, begin, end, mask, length, max_distance, places);
}

/* Writes up to `limit` of the most frequent words of each edit distance from 1 to
 * `max_distance`, which is 1 or 2; words of four letters have one edit at most. */
int64_t near_words(const Words *words, int64_t n_corrections, const uint16_t *typed,
                   int64_t length, int64_t max_distance, int64_t limit, int32_t *found,
                   uint8_t *distances)
{
    uint64_t mask = letter_mask(typed, length);
    int64_t size = 0, counts[3] = {0};
    int32_t places[BLOCK];
    for (int64_t begin = 0; begin < n_corrections; begin += BLOCK) {
        int64_t end = begin + BLOCK < n_corrections ? begin + BLOCK : n_corrections;
        int64_t n_places =
            has_popcnt() ? filter_by_popcnt(words, begin, end, mask, length, max_distance, places)
                         : filter_block(words, begin, end, mask, length, max_distance, places);
        for (int64_t at = 0; at < n_places; at++) {
            int32_t word = words->corrections[places[at]];
            int other = words->lengths[places[at]];
            int most = other > SHORT ? (int)max_distance : 1;
            int distance = edit_distance(typed, (int)length, words->letters + words->offsets[word],
                                         other, most, 0);
            if (distance < 1 || distance > most || counts[distance] == limit) continue;
            counts[distance]++;
            found[size] = word;
            distances[size++] = (uint8_t)distance;
        }
        if (counts[1] == limit && (max_distance == 1 || counts[2] == limit)) break;
    }
    return size;
}

/* Compares the start (or the end, read backwards) of a word with the typed letters: below 0
 * where the word comes before all words that begin with them, 0 where it is one. */
static int64_t compare_start(const Words *words, int64_t word, const uint16_t *typed,
                             int64_t length, int backwards)
{
    const uint16_t *letters = words->letters + words->offsets[word];
    int64_t other = words->offsets[word + 1] - words->offsets[word];
    for (int64_t at = 0; at < length; at++) {
        if (at == other) return -1;
        int64_t here = letters[backwards ? other - 1 - at : at];
        int64_t there = typed[backwards ? length - 1 - at : at];
        if (here != there) return here - there;
    }
    return 0;
}

/* Compares two words by their letters, or by those from the last to the first. */
static int64_t compare_words(const Words *words, int32_t one, int32_t other, int backwards)
{
    int64_t begin = words->offsets[other], length = words->offsets[other + 1] - begin;
    int64_t order = compare_start(words, one, words->letters + begin, length, backwards);
    return order ? order : words->offsets[one + 1] - words->offsets[one] - length;
}

static _Thread_local const Words *sorted_words;

static int compare_starts(const void *one, const void *other)
{
    int64_t order = compare_words(sorted_words, *(const int32_t *)one, *(const int32_t *)other, 0);
    return (order > 0) - (order < 0);
}

static int compare_ends(const void *one, const void *other)
{
    int64_t order = compare_words(sorted_words, *(const int32_t *)one, *(const int32_t *)other, 1);
    return (order > 0) - (order < 0);
}

/* Sorts all words for look-ups of starts and of ends. */
void sort_words(const Words *words, int64_t n_words, int32_t *by_start, int32_t *by_end)
{
    for (int32_t word = 0; word < n_words; word++) by_start[word] = by_end[word] = word;
    sorted_words = words;
    qsort(by_start, (size_t)n_words, sizeof(int32_t), compare_starts);
    qsort(by_end, (size_t)n_words, sizeof(int32_t), compare_ends);
}

/* Returns the place of the first word in the order that does not come before the letters,
 * or, with `past`, that comes after all words that begin with them. */
static int64_t first_place(const Words *words, int64_t n_words, const uint16_t *typed,
                           int64_t length, int backwards, int past)
{
    const int32_t *order = backwards ? words->by_end : words->by_start;
    int64_t low = 0, high = n_words;
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (compare_start(words, order[middle], typed, length, backwards) < past)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Inserts a word among the most frequent ones, which have the lowest numbers. */
static int64_t keep_most_frequent(int32_t *found, int64_t size, int64_t limit, int32_t word)
{
    if (size == limit && (!limit || found[size - 1] < word)) return size;
    int64_t at = size < limit ? size++ : size - 1;
    for (; at > 0 && found[at - 1] > word; at--) found[at] = found[at - 1];
    found[at] = word;
    return size;
}

/* Writes the most frequent words that begin with (or end with) the letters. */
int64_t words_with_start(const Words *words, int64_t n_words, const uint16_t *typed,
                         int64_t length, int64_t backwards, int64_t limit, int32_t *found)
{
    const int32_t *order = backwards ? words->by_end : words->by_start;
    int64_t size = 0, place = first_place(words, n_words, typed, length, backwards != 0, 0);
    int64_t end = first_place(words, n_words, typed, length, backwards != 0, 1);
    for (; place < end; place++) size = keep_most_frequent(found, size, limit, order[place]);
    return size;
}

/* Writes the most frequent corrections with the same first letter and at least `shortest`
 * letters, whose start is one edit from the letters at most. */
int64_t words_with_near_start(const Words *words, int64_t n_corrections,
                              const uint16_t *typed, int64_t length, int64_t shortest,
                              int64_t limit, int32_t *found)
{
    int64_t size = 0;
    for (int64_t place = 0; place < n_corrections && size < limit; place++) {
        int32_t word = words->corrections[place];
        const uint16_t *letters = words->letters + words->offsets[word];
        int other = words->lengths[place];
        if (other < shortest || letters[0] != typed[0]) continue;
        if (edit_distance(typed, (int)length, letters, other, 1, 1) <= 1) found[size++] = word;
    }
    return size;
}

/* Returns whether these letters are a word. */
int64_t has_word(const Words *words, int64_t n_words, const uint16_t *typed, int64_t length)
{
    int64_t place = first_place(words, n_words, typed, length, 0, 0);
    if (place == n_words) return 0;
    int32_t word = words->by_start[place]; /* the shortest that begins with the letters */
    return words->offsets[word + 1] - words->offsets[word] == length &&
           !compare_start(words, word, typed, length, 0);
}
