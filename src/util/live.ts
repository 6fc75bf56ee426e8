/** Views that show what is there now, whenever they are looked into: for those who keep what they were once given. */

const inspect: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never

/** What stands behind a view; people only see it through the traps, or printed. */
class Origin {
  readonly #source: () => unknown
  readonly #show: (state: never) => object

  constructor(source: () => unknown, show: (state: never) => object) {
    this.#source = source
    this.#show = show
  }

  static current(origin: Origin): object {
    return origin.#show(origin.#source() as never)
  }

  /** The platform prints what stands behind a proxy, unless told what to print; it calls this on the proxy. */
  [inspect](): object {
    return { ...this }
  }
}

/** Nothing can be changed through a view. What it shows may be frozen, but the view itself never promises to stay so. */
const traps: ProxyHandler<Origin> = {
  get: (origin, key) => Reflect.get(Origin.current(origin), key),
  has: (origin, key) => Reflect.has(Origin.current(origin), key),
  ownKeys: (origin) => Reflect.ownKeys(Origin.current(origin)),
  getOwnPropertyDescriptor: (origin, key) => {
    const found = Reflect.getOwnPropertyDescriptor(Origin.current(origin), key)
    return found && { ...found, configurable: true }
  },
  getPrototypeOf: (origin) => Reflect.getPrototypeOf(Origin.current(origin)),
  set: () => false,
  defineProperty: () => false,
  deleteProperty: () => false,
  preventExtensions: () => false,
  setPrototypeOf: () => false,
}

/** Of the same source there may be many views, of which each shows another part; so the two are given apart. */
export function createLiveView<S>(source: () => S, show: (state: S) => object): object {
  return new Proxy(new Origin(source, show), traps)
}
