/** Reads the state that the framework stores on objects: progress, the last handled state, the finalizer. */
import { afterEach } from 'vitest'
import { type Body, type Lab, type LabOptions, useLab } from './lab.ts'

export const lastHandled = 'kopf.zalando.org/last-handled-configuration'
export const finalizer = 'kopf.zalando.org/KopfFinalizerMarker'

export function annotationsOf(body: Body): Readonly<Record<string, string>> {
  return (body.metadata?.annotations ?? {}) as Readonly<Record<string, string>>
}

/** The last handled essence; undefined if there is none yet. */
export function handledOf(body: Body): Record<string, unknown> | undefined {
  const text = annotationsOf(body)[lastHandled]
  return text === undefined ? undefined : JSON.parse(text)
}

/** The progress record of a handler; undefined if there is none. */
export function progressOf(body: Body, id: string): Record<string, unknown> | undefined {
  const text = annotationsOf(body)[`kopf.zalando.org/${id}`]
  return text === undefined ? undefined : JSON.parse(text)
}

/** All progress records on the object, by annotation name without the prefix. */
export function recordsOf(body: Body): Record<string, Record<string, unknown>> {
  const prefix = 'kopf.zalando.org/'
  const isRecord = (key: string) =>
    key.startsWith(prefix) && key !== lastHandled && !key.endsWith('/seen-configurations')
  const records = Object.entries(annotationsOf(body)).filter(([key]) => isRecord(key))
  return Object.fromEntries(records.map(([key, text]) => [key.slice(prefix.length), JSON.parse(text)]))
}

export function isHandled(body: Body): boolean {
  return lastHandled in annotationsOf(body)
}

/** Waits until the present spec is the last handled one and no handler has a progress record. Resolves with the object. */
export function untilHandled(lab: Lab, name: string): Promise<Body> {
  return lab.untilObject(name, (body) => {
    const essence = handledOf(body)
    if (essence === undefined || JSON.stringify(essence['spec']) !== JSON.stringify(body['spec'])) return false
    return Object.keys(annotationsOf(body)).filter((key) => key.startsWith('kopf.zalando.org/')).length === 1
  })
}

/** Waits long enough for any further activity: 30 skipped seconds on the embedded server, 0.4 real seconds otherwise. */
export function settle(lab: Lab): Promise<void> {
  return lab.elapse(lab.isReal ? 0.4 : 30)
}

/** A lab that deletes all objects after each test. */
export function useCleanLab(options: LabOptions = {}): Lab {
  const lab = useLab(options)
  afterEach(async () => {
    await lab.stopAll()
    const { body } = await lab.call('GET', lab.path())
    for (const { metadata } of (body as unknown as { items: Body[] }).items) {
      await lab.call('PATCH', lab.path(metadata.name), { metadata: { finalizers: null } }, mergePatch)
      await lab.delete(metadata.name!)
    }
  })
  return lab
}

const mergePatch = 'application/merge-patch+json'
