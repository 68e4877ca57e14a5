// The lists of one page: each product appears in one of them only. All lists send their requests
// at once; a list that has to leave products out requests more than it shows. They choose in
// turn: first lists of products bought together, which cannot be filled up, then the others in
// the order of the page.

const FOLLOWING = 4; // Node.DOCUMENT_POSITION_FOLLOWING
const PATIENCE_MS = 2_000; // less than that of a request, so that a slow list stops no other

/** The list of an element, and the products that it shows. */
export interface List {
  ids: readonly string[];
  /** Marks the list as done: it has chosen, or never will. */
  end(): void;
  readonly ended_: Promise<void>;
  readonly host_: Element;
  readonly isScarce_: boolean;
}

export class Page {
  private lists_: List[] = [];

  /**
   * Returns a new list of an element; with `isScarce` it chooses before the others. One with `ids`
   * has chosen.
   */
  join(host: Element, isScarce: boolean, ids?: readonly string[]): List {
    this.leave(host);
    let end!: () => void;
    const ended = new Promise<void>((done) => (end = done));
    const list = { ids: ids ?? [], end, ended_: ended, host_: host, isScarce_: isScarce };
    this.lists_.push(list);
    if (ids) end();
    return list;
  }

  leave(host: Element): void {
    this.lists_ = this.lists_.filter((one) => one.host_ !== host || one.end());
  }

  /** Returns the lists that choose before `list`. */
  before({ host_: host, isScarce_: isScarce }: List): List[] {
    return this.lists_.filter((one) =>
      one.isScarce_ === isScarce
        ? one.host_.compareDocumentPosition(host) & FOLLOWING
        : one.isScarce_,
    );
  }

  /**
   * Returns the products of the other lists, once those before have chosen or the wait is over.
   */
  async taken(list: List): Promise<string[]> {
    await Promise.race([
      Promise.all(this.before(list).map((one) => one.ended_)),
      new Promise((done) => setTimeout(done, PATIENCE_MS)),
    ]);
    return this.lists_.flatMap((one) => (one === list ? [] : one.ids)) as string[];
  }
}
