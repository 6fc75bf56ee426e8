/** Random pauses and changes: no handler runs during a pause, and all objects are handled in the end. */
import { Operator, TemporaryError } from 'kopf'
import { expect, test } from 'vitest'
import { finalizer, untilHandled } from '../support/handled.ts'
import { usePeeringLab } from './peering-lab.ts'

const peering = usePeeringLab('kopf.dev')
const { lab } = peering

/** A linear congruential generator: the same numbers for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const names = ['a', 'b', 'c', 'd', 'e']
const steps = lab.isReal ? 25 : 120

class Life {
  readonly #random: () => number
  readonly #sizes = new Map<string, number>()
  isPaused = false
  /** Violations: handlers called during a pause, or twice at once for an object. */
  readonly wrong: string[] = []
  readonly #busy = new Map<string, number>()
  /** The sizes that handlers have finished with, by the uid of the object. */
  readonly handled = new Map<string, number[]>()

  constructor(random: () => number) {
    this.#random = random
  }

  createOperator(): Operator {
    const kopf = new Operator({ settings: { peering: { name: peering.name } } })
    const handle = async ({ uid, spec, retry }: { uid: string; spec: { size?: number }; retry: number }) => {
      if (this.isPaused) this.wrong.push(`called for ${uid} while paused`)
      this.#busy.set(uid, (this.#busy.get(uid) ?? 0) + 1)
      if (this.#busy.get(uid)! > 1) this.wrong.push(`called for ${uid} twice at once`)
      await lab.clock.sleep(this.#random() * 300)
      this.#busy.set(uid, this.#busy.get(uid)! - 1)
      if (retry === 0 && this.#random() < 0.3) throw new TemporaryError('once more', { delay: 0.2 })
      this.handled.set(uid, [...(this.handled.get(uid) ?? []), spec.size!])
    }
    kopf.on.create(lab.widgets, { id: 'handle' }, handle as never)
    kopf.on.update(lab.widgets, { id: 'handle' }, handle as never)
    kopf.on.delete(lab.widgets, { id: 'clean' }, () => {
      if (this.isPaused) this.wrong.push('cleaned up while paused')
    })
    kopf.timer(lab.widgets, { id: 'tick', interval: 0.5 }, () => {
      if (this.isPaused) this.wrong.push('ticked while paused')
    })
    return kopf
  }

  async step(): Promise<void> {
    const name = names[Math.floor(this.#random() * names.length)]!
    const dice = this.#random()
    if (dice < 0.45) await this.#change(name)
    else if (dice < 0.55) await lab.delete(name)
    else if (dice < 0.75) await this.toggle()
    else await lab.elapse(this.#random() * (lab.isReal ? 0.3 : 2))
  }

  async toggle(): Promise<void> {
    const [word, record] = this.isPaused ? ['Resuming', null] : ['Pausing', { priority: 100, lifetime: 100_000 }]
    const before = this.#count(word as string)
    if (this.isPaused) this.isPaused = false
    await peering.sign('them', record as never)
    await lab.until(() => this.#count(word as string) > before)
    this.isPaused = record !== null
  }

  #count(word: string): number {
    return lab.logs.filter((line) => line.startsWith(word)).length
  }

  async #change(name: string): Promise<void> {
    const size = (this.#sizes.get(name) ?? 0) + 1
    this.#sizes.set(name, size)
    const { status, body } = await lab.call('GET', lab.path(name))
    if (status !== 200) await lab.create(name, { spec: { size } })
    else if (body.metadata.deletionTimestamp === undefined) await lab.patch(name, { spec: { size } })
  }
}

test.each(lab.isReal ? [1, 2] : [1, 2, 3, 4, 5, 6, 7, 8])(
  'random pauses and changes with seed %i never run a handler during a pause, and all objects are handled in the end',
  { timeout: 60_000 },
  async (seed) => {
    await peering.create()
    const life = new Life(createRandom(seed))
    await lab.start(life.createOperator(), { identity: 'me' })
    for (let step = 0; step < steps; step += 1) await life.step()
    if (life.isPaused) await life.toggle()
    for (const name of names) {
      const { status, body } = await lab.call('GET', lab.path(name))
      if (status !== 200) continue
      if (body.metadata.deletionTimestamp !== undefined) {
        await lab.untilGone(name)
        continue
      }
      const { metadata, spec } = await untilHandled(lab, name)
      expect(metadata.finalizers).toEqual([finalizer])
      expect(life.handled.get(metadata.uid!)?.at(-1)).toBe((spec as { size: number }).size)
    }
    expect(life.wrong).toEqual([])
    // No size of an object is handled twice or out of order.
    for (const sizes of life.handled.values()) expect(sizes).toEqual([...new Set(sizes)].toSorted((a, b) => a - b))
  },
)
