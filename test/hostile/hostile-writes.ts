/**
 * Random writes of a hostile author of objects, from a seed: bodies that the API server accepts, with depth, width and odd keys;
 * forged annotations under the prefixes of the framework; forged owners, labels, finalizers and status.
 */
import { Random } from '../simulation/random.ts'
import type { Tree } from '../support/answers.ts'
import { nest, widen } from '../support/growth.ts'

/** Part of every forged result; no step function of the operator returns it. */
export const forgedMark = 'forged-by-the-author'

/** Ids of handlers, sub-handlers and steps of the operator under attack. */
const knownIds = [
  'provision',
  'provision/part',
  'provision/bucket',
  'provision.bucket',
  'serve',
  'serve/account',
  'watch',
]

const oddKeys = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  '',
  'a.b',
  'a/b',
  '~0~1',
  '\u0000',
  '🙂',
  'k'.repeat(4000),
]

const oddTimes = ['', 'soon', '0000-00-00T00:00:00Z', '9999-12-31T23:59:59.999999+00:00', '1970-01-01T00:00:00+00:00']

export class Author {
  readonly #random: Random

  constructor(seed: string) {
    this.#random = new Random(seed)
  }

  /** A merge patch of any fields that the author may write, or a new object. */
  drawFields(uids: readonly string[]): Tree {
    const random = this.#random
    return {
      ...(random.chance(0.7) ? { spec: this.#drawSpec() } : {}),
      ...(random.chance(0.3) ? { status: this.#drawValue(3) } : {}),
      metadata: {
        ...(random.chance(0.7) ? { annotations: this.#drawAnnotations() } : {}),
        ...(random.chance(0.3) ? { labels: this.#drawLabels() } : {}),
        ...(random.chance(0.2) ? { finalizers: this.#drawFinalizers() } : {}),
        ...(random.chance(0.2) && uids.length > 0 ? { ownerReferences: this.#drawOwners(uids) } : {}),
      },
    }
  }

  pick<T>(list: readonly T[]): T {
    return this.#random.pick(list)
  }

  chance(probability: number): boolean {
    return this.#random.chance(probability)
  }

  below(limit: number): number {
    return this.#random.below(limit)
  }

  #drawSpec(): Tree {
    const random = this.#random
    const draws: ReadonlyArray<() => Tree> = [
      () => ({ size: random.below(5) }),
      () => nest(1 + random.below(3000), this.#drawValue(1)),
      () => ladder(1 + random.below(800), random.below(3)),
      () => widen(1 + random.below(3000), { value: this.#drawValue(0) }),
      () => ({ list: Array.from({ length: random.below(3000) }, () => this.#drawValue(0)) }),
      () => Object.fromEntries(oddKeys.map((key) => [key, this.#drawValue(1)])),
      () => ({ children: Array.from({ length: random.below(5) }, (_, index) => `child-${index}`) }),
    ]
    return random.pick(draws)()
  }

  #drawValue(depth: number): unknown {
    const random = this.#random
    const scalars = [null, true, 0, -1, 2 ** 53, 1e300, '', 'text', forgedMark, 'x'.repeat(1000), '\u001b[31m', 'a\nb']
    if (depth === 0 || random.chance(0.5)) return random.pick(scalars)
    if (random.chance(0.3)) return [this.#drawValue(depth - 1), this.#drawValue(depth - 1)]
    return { [random.pick(oddKeys)]: this.#drawValue(depth - 1), a: this.#drawValue(depth - 1) }
  }

  #drawAnnotations(): Tree {
    const random = this.#random
    const annotations: Record<string, string> = random.chance(0.4) ? this.#forgeSteps() : {}
    for (let count = 1 + random.below(6); count > 0; count -= 1) {
      const id = random.pick(knownIds).replaceAll('/', random.pick(['.', '/', '-']))
      const name = random.chance(0.8)
        ? id
        : random.pick(['last-handled-configuration', 'seen-configurations', 'wanted'])
      const key = `${random.pick(['kopf.zalando.org', 'kopf.dev'])}/${name}`.replace(/(?<=\/.*)\//g, '.')
      annotations[key.slice(0, 80)] = this.#drawRecord()
    }
    return annotations
  }

  /** Records of a finished step of an unfinished handler, as an operator writes them, except for the signature. */
  #forgeSteps(): Record<string, string> {
    const random = this.#random
    const [handler, step] = random.pick([
      ['provision', 'bucket'],
      ['serve', 'account'],
    ] as const)
    const started = random.pick(['2026-01-01T00:00:00.000000+00:00', ...oddTimes])
    const purpose = handler === 'serve' ? 'reconcile' : random.pick(['create', 'update', 'resume'])
    const record = { started, purpose, retries: 1, success: false, failure: false, subrefs: [`${handler}/${step}`] }
    const result = JSON.stringify({ name: forgedMark })
    const done = { started, stopped: started, purpose, retries: 1, success: true, failure: false, result }
    return {
      [`kopf.zalando.org/${handler}`]: JSON.stringify(record),
      [`kopf.zalando.org/${handler}.${step}`]: JSON.stringify(done),
    }
  }

  #drawRecord(): string {
    const random = this.#random
    const draws: ReadonlyArray<() => string> = [
      () => random.pick(['', '{', 'null', '[]', '7', '"text"', '{}', '{"__proto__":{"success":true}}']),
      () => JSON.stringify(this.#drawValue(4)),
      () => `${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`,
      () => JSON.stringify(this.#drawProgress()),
      () => JSON.stringify(this.#drawProgress()),
      () => JSON.stringify({ spec: this.#drawValue(3), metadata: { labels: this.#drawValue(1) } }),
    ]
    return random.pick(draws)().slice(0, 60_000)
  }

  /** A record of a handler or a step in the format of the framework, with values of the author. */
  #drawProgress(): Tree {
    const random = this.#random
    const flags = [true, false, null, 'true', 1]
    return {
      started: random.pick(oddTimes),
      stopped: random.pick([...oddTimes, null]),
      delayed: random.pick([...oddTimes, null]),
      purpose: random.pick(['create', 'update', 'delete', 'resume', 'reconcile', null, 7]),
      retries: random.pick([0, 1, -1, 1e9, 2 ** 60, 'many', null]),
      success: random.pick(flags),
      failure: random.pick(flags),
      message: random.pick([null, 'text', 'x'.repeat(2000)]),
      result: random.pick([forgedMark, `"${forgedMark}"`, `{"name":"${forgedMark}"}`, null, 7]),
      subrefs: random.pick([
        null,
        'text',
        [],
        knownIds,
        Array.from({ length: 2000 }, (_, index) => `provision/${index}`),
      ]),
      signature: random.pick([null, '', 'v1:00', 'x'.repeat(64)]),
    }
  }

  #drawLabels(): Tree {
    const values = ['deputy.serve', 'x', '']
    return { 'kopf.dev/reconciler': this.#random.pick(values), tier: this.#random.pick(values) }
  }

  #drawFinalizers(): string[] {
    const many = Array.from({ length: this.#random.below(500) }, (_, index) => `example.com/f${index}`)
    return this.#random.pick([[], ['example.com/never'], ['kopf.zalando.org/KopfFinalizerMarker'], many])
  }

  #drawOwners(uids: readonly string[]): Tree[] {
    const uid = this.#random.pick(uids)
    return [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'other', uid, controller: this.#random.chance(0.5) }]
  }
}

/** `levels` nested objects, each with its own field: two of them differ at every level. */
function ladder(levels: number, value: number): Tree {
  let inner: Tree = { x: value }
  for (let level = 1; level < levels; level += 1) inner = { x: value, a: inner }
  return inner
}
