/* The engines' inner loops. `compiled_kernels.py` calls them through ctypes, without the GIL.
 *
 * Plain C11 without floating point options that change results: tests compare each loop bit
 * by bit with a reference implementation in numpy. Callers pass contiguous arrays of exactly
 * these types. `tools/kernels.py` compiles the file.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- session kNN */
/* The order of the fields is that of the named tuples in engines/browse. */
typedef struct {
    const int64_t *offsets;
    const int32_t *items;
    const float *freshness;
    const int64_t *owners;
    const int64_t *posting_offsets;
    const int32_t *postings;
    const float *rarity;
} Sessions;

typedef struct {
    const double *match, *vote, *distance, *returns;
} Weights;

typedef struct {
    const int32_t *items; /* newest first */
    const int64_t *own_slots; /* ascending */
} Query;

typedef struct {
    int64_t *slots;
    double *similar;
    int64_t *matched;
    double *sample;
    int64_t *begins;
    double *votes; /* all zero between queries */
    int32_t *voters; /* all zero between queries; VISITED: an earlier item of the visit */
    int32_t *touched;
    double *scored;
    int32_t *best_items;
    double *best_scores;
    int32_t *best_support;
} Scratch;

enum { BINS = 256, VISITED = -1 };

/* Merges the items' posting lists, newest session first; returns the number of sessions. */
static int64_t collect_recent_sessions(const Sessions *layout, const Weights *weights,
                                       const Query *query, int64_t n_items, int64_t n_own,
                                       int64_t recent_sessions, Scratch *scratch)
{
    int64_t next_postings[n_items], ends[n_items], newest[n_items]; /* -1 at a list's end */
    int64_t slot = -1, count = 0, next_own = n_own - 1;
    for (int64_t place = 0; place < n_items; place++) {
        int64_t posting = layout->posting_offsets[query->items[place]];
        ends[place] = layout->posting_offsets[query->items[place] + 1];
        newest[place] = posting < ends[place] ? layout->postings[posting] : -1;
        next_postings[place] = posting;
        if (newest[place] > slot) slot = newest[place];
    }
    while (slot >= 0 && count < recent_sessions) {
        double similarity = 0.0;
        int64_t matched = -1, next_slot = -1;
        for (int64_t place = 0; place < n_items; place++) {
            if (newest[place] == slot) {
                similarity += weights->match[place];
                if (matched < 0) matched = place;
                int64_t posting = next_postings[place] + 1;
                newest[place] = posting < ends[place] ? layout->postings[posting] : -1;
                next_postings[place] = posting;
            }
            if (newest[place] > next_slot) next_slot = newest[place];
        }
        while (next_own >= 0 && query->own_slots[next_own] > slot) next_own--;
        if (next_own < 0 || query->own_slots[next_own] != slot) {
            scratch->slots[count] = slot;
            scratch->similar[count] = similarity;
            scratch->matched[count++] = matched;
        }
        slot = next_slot;
    }
    /* Freshness is read in a separate loop, so that memory reads overlap. */
    for (int64_t place = 0; place < count; place++)
        scratch->similar[place] *= (double)layout->freshness[scratch->slots[place]];
    return count;
}

/* Returns the rank-th highest of the first values; reorders them. */
static double select_nth_highest(double *sample, int64_t count, int64_t rank)
{
    int64_t low = 0, high = count - 1, target = rank - 1;
    while (low < high) {
        double pivot = sample[(low + high) / 2];
        int64_t left = low, right = high;
        while (left <= right) {
            while (sample[left] > pivot) left++;
            while (sample[right] < pivot) right--;
            if (left <= right) {
                double other = sample[left];
                sample[left++] = sample[right];
                sample[right--] = other;
            }
        }
        if (target <= right)
            high = right;
        else if (target >= left)
            low = left;
        else
            break;
    }
    return sample[target];
}

/* Returns the rank-th highest of the values, none below 0. A histogram limits the selection
 * to one bin, whose values are copied to `sample`. */
static double score_at_rank(const double *values, double *sample, int64_t count, int64_t rank)
{
    double highest = 0.0;
    for (int64_t place = 0; place < count; place++)
        if (values[place] > highest) highest = values[place];
    if (highest == 0.0) return 0.0;
    int64_t bin_counts[BINS] = {0}, bin = BINS - 1, size = 0;
    double bins_per_score = (BINS - 1) / highest;
    for (int64_t place = 0; place < count; place++)
        bin_counts[(int64_t)(values[place] * bins_per_score)]++;
    while (bin_counts[bin] < rank) rank -= bin_counts[bin--];
    for (int64_t place = 0; place < count; place++) {
        sample[size] = values[place]; /* without a branch, which would be mispredicted */
        size += (int64_t)(values[place] * bins_per_score) == bin;
    }
    return select_nth_highest(sample, size, rank);
}

/* Keeps the most similar sessions, the newer of ties; returns their number. */
static int64_t keep_most_similar_sessions(Scratch *scratch, int64_t count, int64_t most)
{
    if (count <= most) return count;
    double least = score_at_rank(scratch->similar, scratch->sample, count, most);
    int64_t ties = most, kept = 0;
    for (int64_t place = 0; place < count; place++) ties -= scratch->similar[place] > least;
    for (int64_t place = 0; place < count; place++) {
        double similarity = scratch->similar[place];
        int is_kept = similarity == least && ties > 0;
        ties -= is_kept;
        scratch->slots[kept] = scratch->slots[place];
        scratch->similar[kept] = similarity;
        scratch->matched[kept] = scratch->matched[place];
        kept += is_kept || similarity > least;
    }
    return kept;
}

/* Lets the neighbours vote for their items, and counts each item's voters. Returns the number
 * of items with votes. */
static int64_t vote_for_items_of_neighbours(const Sessions *layout, const Weights *weights,
                                            const Query *query, int64_t longest,
                                            Scratch *scratch, int64_t count)
{
    int64_t found = 0, offset = 0;
    /* Session offsets are read in a separate loop, so that memory reads overlap. */
    for (int64_t place = 0; place < count; place++) {
        int64_t begin = layout->offsets[scratch->slots[place]];
        scratch->begins[place] = begin;
        offset += layout->items[begin];
    }
    scratch->begins[count] = offset; /* so that the compiler does not remove the reads */
    for (int64_t place = 0; place < count; place++) {
        int64_t matched = scratch->matched[place], begin = scratch->begins[place];
        int64_t end = layout->offsets[scratch->slots[place] + 1], match_at = begin;
        while (layout->items[match_at] != query->items[matched]) match_at++;
        double weight = scratch->similar[place] * weights->vote[matched];
        for (int64_t at = begin; at < end; at++) {
            int32_t item = layout->items[at];
            double votes = scratch->votes[item];
            scratch->touched[found] = item; /* without a branch, which would wait for memory */
            found += votes == 0.0;
            scratch->votes[item] = votes + weight * weights->distance[longest + at - match_at];
            scratch->voters[item]++;
        }
    }
    return found;
}

/* Gives the visit's earlier items some of the neighbours' votes and a share of all votes. */
static int64_t vote_for_visited_items(const Weights *weights, const Query *query,
                                      int64_t n_items, double seen, Scratch *scratch,
                                      int64_t found)
{
    double total = found ? 0.0 : 1.0;
    for (int64_t place = 0; place < found; place++)
        total += scratch->votes[scratch->touched[place]];
    for (int64_t place = 1; place < n_items; place++) {
        int32_t item = query->items[place];
        double votes = scratch->votes[item];
        double new_votes = votes * seen + weights->returns[place] * total;
        if (new_votes > 0.0) {
            scratch->touched[found] = item;
            found += votes == 0.0;
            scratch->votes[item] = new_votes;
            scratch->voters[item] = VISITED;
        }
    }
    return found;
}

/* Writes how many neighbours hold each of the best items, and clears the counts. An earlier
 * item of the visit gets the count of the item above it; at the top, of all neighbours. */
static void write_support(Scratch *scratch, int64_t found, int64_t taken, int64_t neighbours)
{
    int32_t support = neighbours ? (int32_t)neighbours : 1;
    for (int64_t at = 0; at < taken; at++) {
        int32_t voters = scratch->voters[scratch->best_items[at]];
        if (voters != VISITED) support = voters;
        scratch->best_support[at] = support;
    }
    for (int64_t place = 0; place < found; place++)
        scratch->voters[scratch->touched[place]] = 0;
}

/* Writes the best items, clears the votes, and returns the number of items. */
static int64_t take_best_items(const Sessions *layout, int64_t current, Scratch *scratch,
                               int64_t found, int64_t limit)
{
    int32_t *items = scratch->best_items;
    double *scores = scratch->best_scores;
    int64_t taken = 0;
    for (int64_t place = 0; place < found; place++) {
        int32_t item = scratch->touched[place];
        scratch->scored[place] = scratch->votes[item] * (double)layout->rarity[item];
        scratch->votes[item] = 0.0;
    }
    for (int64_t place = 0; place < found; place++) {
        int32_t item = scratch->touched[place];
        double score = scratch->scored[place];
        int64_t at = taken;
        if (item == current) continue;
        if (taken == limit) {
            at = taken - 1; /* the entry to evict */
            if (scores[at] > score || (scores[at] == score && items[at] < item)) continue;
        } else {
            taken++;
        }
        while (at > 0 &&
               (scores[at - 1] < score || (scores[at - 1] == score && items[at - 1] > item))) {
            scores[at] = scores[at - 1];
            items[at] = items[at - 1];
            at--;
        }
        scores[at] = score;
        items[at] = item;
    }
    return taken;
}

/* Writes the next items to the scratch memory, best first; returns their number. */
int64_t next_items(const Sessions *layout, const Weights *weights, Scratch *scratch,
                   const int32_t *items, const int64_t *own_slots, int64_t n_items,
                   int64_t n_own, int64_t current, int64_t recent_sessions,
                   int64_t neighbours, int64_t longest, double seen, int64_t limit)
{
    const Query query = {items, own_slots};
    int64_t found, taken, count = collect_recent_sessions(layout, weights, &query, n_items, n_own,
                                            recent_sessions, scratch);
    count = keep_most_similar_sessions(scratch, count, neighbours);
    found = vote_for_items_of_neighbours(layout, weights, &query, longest, scratch, count);
    found = vote_for_visited_items(weights, &query, n_items, seen, scratch, found);
    taken = take_best_items(layout, current, scratch, found, limit);
    write_support(scratch, found, taken, count);
    return taken;
}

/* ---------------------------------------------------------------- co-purchase lookup */
/* The order of the fields is that of `CompanionArrays`. */
typedef struct {
    const int64_t *offsets;
    const int32_t *companions;
    const float *scores;
    const float *likeness;
    const float *lean;
    const double *constants;
} Companions;

typedef struct {
    int32_t *places; /* 1: an item with votes; -1: an anchor; all zero between queries */
    double *votes; /* all zero between queries */
    int32_t *touched;
    int32_t *best_items;
    float *best_scores;
} CompanionScratch;

/* Lets several anchors vote for their companions; writes the best, returns their number. */
int64_t best_companions(const Companions *layout, CompanionScratch *scratch,
                        const int64_t *anchors, const double *counts, int64_t n_anchors,
                        int64_t limit)
{
    int32_t *items = scratch->best_items;
    float *scores = scratch->best_scores;
    int64_t doublings = (int64_t)layout->constants[0], found = 0, count = 0;
    for (int64_t place = 0; place < n_anchors; place++) scratch->places[anchors[place]] = -1;
    for (int64_t place = 0; place < n_anchors; place++) {
        int64_t anchor = anchors[place];
        double discount = layout->lean[anchor];
        for (int64_t at = layout->offsets[anchor]; at < layout->offsets[anchor + 1]; at++) {
            int32_t item = layout->companions[at];
            double share = (double)layout->likeness[at] * ((double)layout->lean[item] / discount);
            for (int64_t again = 0; again < doublings; again++) share *= share;
            if (scratch->places[item] == 0) {
                scratch->places[item] = 1;
                scratch->touched[found++] = item;
            }
            scratch->votes[item] += share * counts[place];
        }
    }
    for (int64_t place = 0; place < n_anchors; place++) {
        scratch->places[anchors[place]] = 0;
        scratch->votes[anchors[place]] = 0.0;
    }
    for (int64_t place = 0; place < found; place++) {
        int32_t item = scratch->touched[place];
        float score = (float)scratch->votes[item];
        int64_t at = count;
        scratch->votes[item] = 0.0;
        scratch->places[item] = 0;
        while (at > 0 &&
               (scores[at - 1] < score || (scores[at - 1] == score && items[at - 1] > item)))
            at--;
        if (at == limit || score == 0.0f) continue;
        if (count < limit) count++;
        for (int64_t later = count - 1; later > at; later--) {
            scores[later] = scores[later - 1];
            items[later] = items[later - 1];
        }
        scores[at] = score;
        items[at] = item;
    }
    return count;
}

/* ---------------------------------------------------------------- sparse matrix product */
/* The order of the fields is that of `SparseRows`. */
typedef struct {
    const int64_t *offsets;
    const int32_t *columns;
    const double *values;
} SparseRows;

typedef struct {
    double *sums; /* all zero between rows */
    int32_t *counts; /* all zero between rows */
    int32_t *touched;
} ProductScratch;

static int compare_columns(const void *one, const void *other)
{
    int32_t first = *(const int32_t *)one, second = *(const int32_t *)other;
    return (first > second) - (first < second);
}

/* Sorts the columns that a row touched: a scan of all is faster where they are many. */
static void sort_columns(const ProductScratch *scratch, int64_t found, int64_t n_columns)
{
    if (found * 16 < n_columns) {
        qsort(scratch->touched, (size_t)found, sizeof(int32_t), compare_columns);
        return;
    }
    for (int64_t column = 0, at = 0; at < found; column++)
        if (scratch->counts[column]) scratch->touched[at++] = (int32_t)column;
}

/* Writes the product left @ right row by row, columns ascending: sums of products, and how
 * many products each sums. Returns the number of entries; `ends` is each row's end. */
int64_t sparse_product(const SparseRows *left, const SparseRows *right, int64_t n_rows,
                       int64_t n_columns, ProductScratch *scratch, int64_t *ends,
                       int32_t *columns, double *sums, int32_t *counts)
{
    int64_t size = 0;
    for (int64_t row = 0; row < n_rows; row++) {
        int64_t found = 0;
        for (int64_t at = left->offsets[row]; at < left->offsets[row + 1]; at++) {
            double value = left->values[at];
            int64_t middle = left->columns[at], end = right->offsets[middle + 1];
            for (int64_t other = right->offsets[middle]; other < end; other++) {
                int32_t column = right->columns[other];
                if (scratch->counts[column]++ == 0) scratch->touched[found++] = column;
                scratch->sums[column] += value * right->values[other];
            }
        }
        sort_columns(scratch, found, n_columns);
        for (int64_t place = 0; place < found; place++, size++) {
            int32_t column = scratch->touched[place];
            columns[size] = column;
            sums[size] = scratch->sums[column];
            counts[size] = scratch->counts[column];
            scratch->sums[column] = 0.0;
            scratch->counts[column] = 0;
        }
        ends[row] = size;
    }
    return size;
}

/* ---------------------------------------------------------------- probabilities */
/* Writes P(a, x), the regularized lower incomplete gamma function, of positive arrays: by its
 * series below x = a + 1, else by Lentz's continued fraction. */
void gamma_p(const double *shapes, const double *values, int64_t count, double *results)
{
    for (int64_t place = 0; place < count; place++) {
        double a = shapes[place], x = values[place];
        if (!(x > 0.0)) {
            results[place] = 0.0;
            continue;
        }
        double front = exp(a * log(x) - x - lgamma(a));
        if (x < a + 1.0) {
            double term = 1.0 / a, sum = term;
            for (double next = a + 1.0; term > sum * 1e-16; next += 1.0) sum += term *= x / next;
            results[place] = front * sum;
            continue;
        }
        double b = x + 1.0 - a, c = 1e300, d = 1.0 / b, fraction = d, factor = 0.0;
        for (double i = 1.0; i < 1e6 && fabs(factor - 1.0) > 1e-15; i += 1.0) {
            double step = -i * (i - a);
            b += 2.0;
            d = step * d + b;
            d = 1.0 / (fabs(d) < 1e-300 ? 1e-300 : d);
            c = b + step / c;
            c = fabs(c) < 1e-300 ? 1e-300 : c;
            factor = c * d;
            fraction *= factor;
        }
        results[place] = 1.0 - front * fraction;
    }
}

/* Writes the negative binomial quantile of each mean and size (variance = mean + mean^2 /
 * size) at ascending shares: the least count whose distribution function reaches the share.
 * `quantiles` is [n_shares, count]. */
void negative_binomial_quantiles(const double *means, const double *sizes, int64_t count,
                                 const double *shares, int64_t n_shares, double *quantiles)
{
    for (int64_t place = 0; place < count; place++) {
        double mean = means[place], size = sizes[place], k = 0.0;
        double deviation = sqrt(mean + mean * mean / size);
        double fail = log(mean / (size + mean));
        /* Where the count is far from 0, what lies so far below the mean is negligible. */
        if (mean - 40.0 * deviation > 0.0) k = floor(mean - 40.0 * deviation);
        double chance = lgamma(k + size) - lgamma(size) - lgamma(k + 1.0) +
                        size * log(size / (size + mean)) + k * fail;
        double sum = exp(chance);
        for (int64_t share = 0; share < n_shares; share++) {
            double target = shares[share] * (1.0 - 1e-13);
            while (mean > 0.0 && sum < target && k < mean + 400.0 * deviation + 400.0) {
                chance += fail + log((k + size) / (k + 1.0));
                k += 1.0;
                sum += exp(chance);
            }
            quantiles[share * count + place] = mean > 0.0 ? k : 0.0;
        }
    }
}

/* ---------------------------------------------------------------- pictures */
/* Numbers the connected parts of a mask [height, width] from 1 in reading order; sides
 * connect, corners do not. `stack` has a place for each pixel. Returns their number. */
int32_t label_parts(const uint8_t *mask, int64_t height, int64_t width, int32_t *labels,
                    int64_t *stack)
{
    int32_t label = 0;
    memset(labels, 0, (size_t)(height * width) * sizeof(int32_t));
    for (int64_t start = 0; start < height * width; start++) {
        if (!mask[start] || labels[start]) continue;
        int64_t size = 1;
        stack[0] = start;
        labels[start] = ++label;
        while (size) {
            int64_t at = stack[--size], column = at % width;
            int64_t sides[4] = {at >= width ? at - width : -1,
                                at + width < height * width ? at + width : -1,
                                column ? at - 1 : -1, column + 1 < width ? at + 1 : -1};
            for (int side = 0; side < 4; side++) {
                int64_t next = sides[side];
                if (next < 0 || !mask[next] || labels[next]) continue;
                labels[next] = label;
                stack[size++] = next;
            }
        }
    }
    return label;
}

/* ---------------------------------------------------------------- vectors */
/* Each loop is compiled twice for x86-64: for AVX2, and for processors without it. */
#if defined(__x86_64__)
#include <cpuid.h>
#define FOR_AVX2 __attribute__((target("avx2")))

static int find_avx2(void)
{
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_OSXSAVE)) return 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & bit_AVX2)) return 0;
    __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 6) == 6; /* the system saves these registers */
}

static int has_avx2(void)
{
    static int known = -1; /* asking takes microseconds in a virtual machine */
    if (known < 0) known = find_avx2();
    return known;
}
#else
#define FOR_AVX2
static int has_avx2(void) { return 0; }
#endif
#define EACH_TIME static inline __attribute__((always_inline))

enum { ROWS = 512 }; /* that are counted at once, in the processor's cache */

/* Counts in how many bits each column of signs [n_words, n_rows] differs from the query's. */
EACH_TIME void count_differing_bits(const uint64_t *signs, const uint64_t *query, int64_t n_words,
                                 int64_t n_rows, uint16_t *restrict distances)
{
    uint64_t bits[ROWS];
    for (int64_t begin = 0; begin < n_rows; begin += ROWS) {
        int64_t count = begin + ROWS < n_rows ? ROWS : n_rows - begin;
        memset(bits, 0, sizeof(bits));
        for (int64_t word = 0; word < n_words; word++) {
            const uint64_t *column = signs + word * n_rows + begin;
            for (int64_t row = 0; row < count; row++) {
                uint64_t x = column[row] ^ query[word];
                x -= (x >> 1) & 0x5555555555555555u; /* a form that compilers vectorise */
                x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
                x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
                bits[row] += x; /* in each byte, which holds those of 31 words */
            }
        }
        for (int64_t row = 0; row < count; row++) {
            uint64_t x = (bits[row] & 0x00FF00FF00FF00FFu) + ((bits[row] >> 8) & 0x00FF00FF00FF00FFu);
            x += x >> 16;
            distances[begin + row] = (uint16_t)(x + (x >> 32));
        }
    }
}

FOR_AVX2
static void count_by_avx2(const uint64_t *signs, const uint64_t *query, int64_t n_words,
                          int64_t n_rows, uint16_t *distances)
{
    count_differing_bits(signs, query, n_words, n_rows, distances);
}

void differing_signs(const uint64_t *signs, const uint64_t *query, int64_t n_words,
                     int64_t n_rows, uint16_t *distances)
{
    if (has_avx2())
        count_by_avx2(signs, query, n_words, n_rows, distances);
    else
        count_differing_bits(signs, query, n_words, n_rows, distances);
}

EACH_TIME int64_t scan_rows(const int8_t *rows, const int8_t *query, const float *scales,
                         float least, const uint8_t *compared, int64_t count, int64_t length,
                         int64_t *found, float *products)
{
    int64_t size = 0;
    for (int64_t row = 0; row < count; row++) {
        if (!compared[row]) continue;
        const int8_t *values = rows + row * length;
        int32_t total = 0;
        for (int64_t column = 0; column < length; column++)
            total += (int32_t)values[column] * (int32_t)query[column];
        float product = (float)total * scales[row];
        if (product > least) {
            found[size] = row;
            products[size++] = product;
        }
    }
    return size;
}

FOR_AVX2
static int64_t scan_by_avx2(const int8_t *rows, const int8_t *query, const float *scales,
                            float least, const uint8_t *compared, int64_t count,
                            int64_t length, int64_t *found, float *products)
{
    return scan_rows(rows, query, scales, least, compared, count, length, found, products);
}

/* Writes the compared rows whose scaled dot product is above `least`; returns their number. */
int64_t similar_rows(const int8_t *rows, const int8_t *query, const float *scales, float least,
                     const uint8_t *compared, int64_t count, int64_t length, int64_t *found,
                     float *products)
{
    if (has_avx2())
        return scan_by_avx2(rows, query, scales, least, compared, count, length, found, products);
    return scan_rows(rows, query, scales, least, compared, count, length, found, products);
}
