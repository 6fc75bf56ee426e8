/** Files with objects: read, and put into an order in which they can be created. */
import { readFile } from 'node:fs/promises'
import { KopfError } from '../errors.ts'
import type { KubeObject } from '../kube/objects.ts'
import { parseYaml, YamlError } from '../util/yaml.ts'
import { explainFileProblem } from './file-problems.ts'

/** Objects, and the file they come from, for messages. */
export interface Manifest {
  readonly file?: string
  readonly objects: readonly unknown[]
}

export async function readManifest(file: string): Promise<Manifest> {
  try {
    return { file, objects: parseYaml(await readFile(file, 'utf8')) }
  } catch (error) {
    const why = error instanceof YamlError ? error.message : explainFileProblem(error)
    throw new KopfError('KOPF_FILE', `Cannot read "${file}": ${why}`, { cause: error })
  }
}

/** Definitions first, whatever file they are in; one in a file counts more than that of the operator. */
export function orderManifests(definitions: readonly KubeObject[], manifests: readonly Manifest[]): Manifest[] {
  const pick = (isWanted: (object: unknown) => boolean) =>
    manifests.map(({ objects, ...manifest }) => ({ ...manifest, objects: objects.filter(isWanted) }))
  const given = new Set(manifests.flatMap(({ objects }) => objects.filter(isDefinition).map(nameOf)))
  const own = definitions.filter((definition) => !given.has(nameOf(definition)))
  return [{ objects: own }, ...pick(isDefinition), ...pick((object) => !isDefinition(object))]
}

export function isDefinition(object: unknown): boolean {
  return (object as KubeObject | undefined)?.kind === 'CustomResourceDefinition'
}

function nameOf(object: unknown): string | undefined {
  return (object as KubeObject).metadata?.name
}
