/**
 * Read-only proxies that show the current state of a source at every access. For daemons, which keep their arguments while the object
 * changes.
 */

const inspect: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

/** The target of the proxy. It has no fields of its own; the traps read the current state through it. */
class ViewTarget {
  readonly #source: () => unknown
  readonly #select: (state: never) => object

  constructor(source: () => unknown, select: (state: never) => object) {
    this.#source = source
    this.#select = select
  }

  static current(target: ViewTarget): object {
    return target.#select(target.#source() as never)
  }

  /** Node prints the target of a proxy unless this method exists, and calls it on the proxy. */
  [inspect](): object {
    return { ...this }
  }
}

/** Writes through a view fail. Properties are reported as configurable, since they may change even if the current state is frozen. */
const traps: ProxyHandler<ViewTarget> = {
  get: (target, key) => Reflect.get(ViewTarget.current(target), key),
  has: (target, key) => Reflect.has(ViewTarget.current(target), key),
  ownKeys: (target) => Reflect.ownKeys(ViewTarget.current(target)),
  getOwnPropertyDescriptor: (target, key) => {
    const found = Reflect.getOwnPropertyDescriptor(ViewTarget.current(target), key)
    return found && { ...found, configurable: true }
  },
  getPrototypeOf: (target) => Reflect.getPrototypeOf(ViewTarget.current(target)),
  set: () => false,
  defineProperty: () => false,
  deleteProperty: () => false,
  preventExtensions: () => false,
  setPrototypeOf: () => false,
}

/** A view of the part that `select` returns from the current state. Several views may share a source. */
export function createLiveView<S>(source: () => S, select: (state: S) => object): object {
  return new Proxy(new ViewTarget(source, select), traps)
}
