// The lists of one page: each product appears in one of them only. All lists send their requests
// at once; a list that has to leave products out requests more than it shows. They choose in
// turn: first lists of products bought together, which cannot be filled up, then the others in
// the order of their requests.

const PATIENCE_MS = 500;

/** The list of an element, and the products that it shows. */
export interface List {
  ids: readonly string[];
  /** Marks the list as done: it has chosen, or never will. */
  end(): void;
  readonly ended_: Promise<void>;
  readonly host_: Element;
}

export class Page {
  private lists_: List[] = [];

  /** Returns a new list of an element; with `isScarce` it chooses before the others. */
  join(host: Element, isScarce: boolean): List {
    this.leave(host);
    let end!: () => void;
    const ended = new Promise<void>((done) => (end = done));
    const list: List = { ids: [], end, ended_: ended, host_: host };
    this.lists_[isScarce ? "unshift" : "push"](list);
    return list;
  }

  leave(host: Element): void {
    this.lists_ = this.lists_.filter((one) => one.host_ !== host || one.end());
  }

  /** Returns the lists that choose before `list`. */
  before(list: List): List[] {
    return this.lists_.slice(0, this.lists_.indexOf(list));
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
