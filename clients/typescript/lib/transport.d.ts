/** Which key an operation needs. */
export type Keys = "none" | "publishable" | "secret" | "either";
/** Options of one client. */
export interface ClientOptions {
    /** The service's address, such as https://recs.example.com. */
    url: string;
    /** The publishable key (pk_...), for pages. */
    publishableKey?: string;
    /** The secret key (sk_...), for servers only. */
    secretKey?: string;
    /** How often a call that was answered 429 or 503 is repeated; 3 unless you set it. */
    retries?: number;
    /** The longest wait before a repetition, in seconds; 30 unless you set it. */
    maxWaitSeconds?: number;
    /** How long one attempt may take, in seconds; 10 unless you set it. */
    timeoutSeconds?: number;
    /** Another implementation of fetch. */
    fetch?: typeof fetch;
}
/** Options of one call. */
export interface CallOptions {
    signal?: AbortSignal;
    /** Makes repetitions of a push safe; a random one unless you set it. */
    idempotencyKey?: string;
}
/** What is wrong with one field of a request. */
export interface Problem {
    loc: (string | number)[];
    msg: string;
    type: string;
}
/** Why a call failed. `message` says what happened and what to do. */
export declare class ProductRecsError extends Error {
    /** The status, or 0 when there was no reply. */
    readonly status: number;
    /** The reason, for programs: a code of the guide on errors. */
    readonly code: string;
    /** The section of the guide with the remedy. */
    readonly docUrl: string | null;
    /** The id of the request, for the service's log. */
    readonly requestId: string | null;
    /** With 422: what is wrong with each field. */
    readonly problems: readonly Problem[];
    constructor(message: string, 
    /** The status, or 0 when there was no reply. */
    status: number, 
    /** The reason, for programs: a code of the guide on errors. */
    code: string, 
    /** The section of the guide with the remedy. */
    docUrl?: string | null, 
    /** The id of the request, for the service's log. */
    requestId?: string | null, 
    /** With 422: what is wrong with each field. */
    problems?: readonly Problem[], options?: ErrorOptions);
}
interface Call {
    method: string;
    path: string;
    keys: Keys;
    query?: object;
    body?: unknown;
    file?: Blob;
    isIdempotent?: boolean;
}
/** Sends calls: keys, timeouts, repetitions and errors. */
export declare class Transport {
    #private;
    constructor(options: ClientOptions);
    protected escaped(part: string): string;
    protected send<Reply>(call: Call, options: CallOptions): Promise<Reply>;
}
export {};
