// The lists of one page: a product stands in one of them only.
//
// Every list asks at once; those that have to leave something out ask for more than they show.
// They choose one after another: first lists of what was bought together, which nothing can
// fill up, then the others, in the order in which they were asked for.

const PATIENCE_MS = 500;

/** The list of an element, and the products that it shows. */
export interface List {
  ids: readonly string[];
  /** Says that it has chosen, or never will. */
  end(): void;
  readonly ended_: Promise<void>;
  readonly host_: Element;
}

export class Page {
  private lists_: List[] = [];

  /** Returns a new list of an element; one that `isScarce` chooses first. */
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

  /** Returns the lists that choose before `list` does. */
  before(list: List): List[] {
    return this.lists_.slice(0, this.lists_.indexOf(list));
  }

  /** Returns the products of the other lists, when those before have chosen, or take too long. */
  async taken(list: List): Promise<string[]> {
    await Promise.race([
      Promise.all(this.before(list).map((one) => one.ended_)),
      new Promise((done) => setTimeout(done, PATIENCE_MS)),
    ]);
    return this.lists_.flatMap((one) => (one === list ? [] : one.ids)) as string[];
  }
}
