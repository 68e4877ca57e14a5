/** Why a call failed. `message` says what happened and what to do. */
export class ProductRecsError extends Error {
    status;
    code;
    docUrl;
    requestId;
    problems;
    constructor(message, 
    /** The status, or 0 when there was no reply. */
    status, 
    /** The reason, for programs: a code of the guide on errors. */
    code, 
    /** The section of the guide with the remedy. */
    docUrl = null, 
    /** The id of the request, for the service's log. */
    requestId = null, 
    /** With 422: what is wrong with each field. */
    problems = [], options) {
        super(message, options);
        this.status = status;
        this.code = code;
        this.docUrl = docUrl;
        this.requestId = requestId;
        this.problems = problems;
        this.name = "ProductRecsError";
    }
}
const RETRIED = new Set([429, 503]);
/** Sends calls: keys, timeouts, repetitions and errors. */
export class Transport {
    #options;
    constructor(options) {
        this.#options = options;
    }
    escaped(part) {
        return encodeURIComponent(part);
    }
    async send(call, options) {
        const { retries = 3, maxWaitSeconds = 30 } = this.#options;
        const request = this.#request(call, options);
        for (let attempt = 0;; attempt += 1) {
            const response = await this.#attempt(request, options.signal);
            if (response.ok)
                return (await response.json());
            const seconds = wait(response, attempt);
            if (!RETRIED.has(response.status) || attempt >= retries || seconds > maxWaitSeconds) {
                throw await errorOf(response);
            }
            await response.body?.cancel();
            await pause(seconds, options.signal);
        }
    }
    #request(call, options) {
        const { url, publishableKey, secretKey } = this.#options;
        const address = new URL(url.replace(/\/+$/, "") + call.path);
        for (const [name, value] of Object.entries(call.query ?? {})) {
            for (const one of Array.isArray(value) ? value : [value]) {
                if (one !== undefined && one !== null)
                    address.searchParams.append(name, String(one));
            }
        }
        const headers = { accept: "application/json" };
        const isSecret = call.keys !== "publishable" && call.keys !== "none" && secretKey;
        if (isSecret)
            headers["x-api-key"] = secretKey;
        else if (publishableKey && call.keys !== "none" && call.keys !== "secret") {
            address.searchParams.set("key", publishableKey);
        }
        if (call.isIdempotent) {
            headers["idempotency-key"] = options.idempotencyKey ?? newKey();
        }
        const init = { method: call.method, headers };
        if (call.body !== undefined) {
            headers["content-type"] = "application/json";
            init.body = JSON.stringify(call.body);
        }
        else if (call.file) {
            const form = new FormData();
            form.set("file", call.file, "file.csv");
            init.body = form;
        }
        return { url: address, init };
    }
    async #attempt({ url, init }, signal) {
        const { timeoutSeconds = 10, fetch: send = fetch } = this.#options;
        const limit = AbortSignal.timeout(timeoutSeconds * 1000);
        const signals = signal ? [signal, limit] : [limit];
        try {
            return await send(url, { ...init, signal: AbortSignal.any(signals) });
        }
        catch (cause) {
            if (signal?.aborted)
                throw cause;
            const message = limit.aborted
                ? `no reply within ${timeoutSeconds} seconds; call again`
                : `the service at ${url.origin} cannot be reached; check the address`;
            throw new ProductRecsError(message, 0, "connection_failed", null, null, [], { cause });
        }
    }
}
function wait(response, attempt) {
    const asked = Number(response.headers.get("retry-after") ?? NaN);
    return Number.isFinite(asked) ? asked : 2 ** attempt / 2;
}
/** Returns a key that no other call has. Node 18 and pages without TLS lack randomUUID. */
function newKey() {
    const random = () => Math.random().toString(36).slice(2);
    return globalThis.crypto?.randomUUID?.() ?? `${Date.now().toString(36)}-${random()}${random()}`;
}
function pause(seconds, signal) {
    return new Promise((resolve, reject) => {
        const stop = () => {
            clearTimeout(timer);
            reject(signal?.reason);
        };
        const timer = setTimeout(() => {
            signal?.removeEventListener("abort", stop);
            resolve();
        }, seconds * 1000);
        if (signal?.aborted)
            stop();
        else
            signal?.addEventListener("abort", stop, { once: true });
    });
}
async function errorOf(response) {
    const { status } = response;
    const requestId = response.headers.get("x-request-id");
    const body = await response.json().catch(() => null);
    if (Array.isArray(body?.detail)) {
        const problems = body.detail;
        const message = problems.map((one) => `${one.loc.join(".")}: ${one.msg}`).join("; ");
        return new ProductRecsError(message, status, "invalid_request", null, requestId, problems);
    }
    const detail = body?.detail ?? `a reply of status ${status} that is not the service's`;
    const code = body?.code ?? "unknown_reply";
    return new ProductRecsError(detail, status, code, body?.doc_url ?? null, requestId);
}
