/** The currently active faults and their probability: `blow` changes them at random, `clear` ends them. */
import type { Clock } from '../../src/util/async/clock.ts'
import type { Random } from './random.ts'

/** The names of all faults. */
export const faultNames = [
  'refused',
  'error',
  'conflict',
  'invalid',
  'lost',
  'late',
  'gone',
  'goneEvent',
  'compacted',
  'tooLarge',
  'cut',
  'silent',
  'headless',
  'noBookmarks',
  'noStreaming',
  'noise',
  'stale',
] as const

/** Faults of the process itself, and gaps in the watch. */
export const innerFaultNames = ['jump', 'blocked', 'gap'] as const

export type FaultName = (typeof faultNames)[number] | (typeof innerFaultNames)[number]

/** The maximum probability of each fault per request or watch chunk. */
const worst: Readonly<Record<FaultName, number>> = {
  refused: 1,
  error: 0.7,
  conflict: 0.6,
  invalid: 0.6,
  lost: 0.5,
  late: 0.5,
  gone: 0.8,
  goneEvent: 0.3,
  compacted: 1,
  tooLarge: 0.8,
  cut: 0.5,
  silent: 0.3,
  headless: 0.3,
  noBookmarks: 1,
  noStreaming: 1,
  noise: 0.6,
  stale: 1,
  jump: 1,
  blocked: 0.1,
  gap: 1,
}

export class Weather {
  readonly #faults: readonly FaultName[]
  readonly #random: Random
  readonly #active = new Map<FaultName, number>()
  readonly #onChange: Array<(faults: ReadonlySet<FaultName>) => void> = []

  constructor(faults: readonly FaultName[], random: Random) {
    this.#faults = faults
    this.#random = random
  }

  has(fault: FaultName): boolean {
    return this.#active.has(fault)
  }

  /** Whether the fault occurs now. */
  strikes(fault: FaultName): boolean {
    const probability = this.#active.get(fault)
    return probability !== undefined && this.#random.chance(probability)
  }

  onChange(listener: (faults: ReadonlySet<FaultName>) => void): void {
    this.#onChange.push(listener)
  }

  /** Activates faults for up to a minute and more, with pauses in between. */
  async blow(clock: Clock, untilMs: number): Promise<void> {
    const random = this.#random
    while (this.#faults.length > 0 && clock.now() < untilMs) {
      const leftMs = untilMs - clock.now()
      await clock.sleep(Math.min(leftMs, random.between(0, 8000)))
      const howMany = 1 + random.below(Math.min(3, this.#faults.length))
      for (let count = 0; count < howMany; count += 1) {
        const fault = random.pick(this.#faults)
        this.#active.set(fault, worst[fault] * random.between(0.2, 1))
      }
      this.#tell()
      const lengthMs = random.chance(0.15) ? random.between(20_000, 90_000) : random.between(200, 8000)
      await clock.sleep(Math.min(Math.max(0, untilMs - clock.now()), lengthMs))
      this.clear()
    }
  }

  clear(): void {
    this.#active.clear()
    this.#tell()
  }

  #tell(): void {
    const names = new Set(this.#active.keys())
    for (const listener of this.#onChange) listener(names)
  }
}
