/** Checks the final state of an object of the soak. Pure. */
import type { Body } from '../../support/answers.ts'

export interface Circumstances {
  /** The number of the present process. */
  readonly life: number
  /** Whether the object was handled before the present process started. */
  readonly isInherited: boolean
}

interface Status {
  readonly born?: { readonly uid: string; readonly value: number }
  readonly updated?: { readonly value: number }
  readonly sized?: number
  readonly resumed?: number
}

const prefix = 'kopf.zalando.org/'
export const lastHandled: string = `${prefix}last-handled-configuration`

/** Returns one sentence for an object with problems, otherwise nothing. */
export function checkObject(body: Body, circumstances: Circumstances): string[] {
  const problems = [...problemsOf(body, circumstances)]
  if (problems.length === 0) return []
  return [`${body.metadata.name} (${body.metadata.uid}) ${problems.join(', ')}`]
}

function* problemsOf({ metadata, spec, status }: Body, { life, isInherited }: Circumstances): Generator<string> {
  if (metadata.deletionTimestamp !== undefined) {
    yield 'is still there although it was deleted'
    return
  }
  const { born, updated, sized, resumed } = (status ?? {}) as Status
  const { value } = spec as { readonly value: number }
  if (born?.uid !== metadata.uid) yield `was never born: ${JSON.stringify(born)}`
  if (sized !== value) yield `has the size ${sized}, not ${value}`
  const isUnchanged = updated === undefined && born?.value === value
  if (!isUnchanged && updated?.value !== value) yield `was updated to ${updated?.value}, not ${value}`
  if (isInherited && resumed !== life) yield `was resumed by ${resumed}, not by ${life}`
  yield* leftoversOf(metadata.annotations ?? {}, value)
}

function* leftoversOf(annotations: Readonly<Record<string, string>>, value: number): Generator<string> {
  const handled = annotations[lastHandled]
  if (handled === undefined || JSON.parse(handled).spec?.value !== value) yield `does not count as handled: ${handled}`
  const left = Object.keys(annotations).filter((key) => key.startsWith(prefix) && key !== lastHandled)
  if (left.length > 0) yield `has ${left.join(' and ')} left`
}
