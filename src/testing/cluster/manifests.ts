/** Reads manifests from files, folders and objects of the test. Each object keeps its origin for error messages. */

import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SelfDescribed } from '../../client/client-options.ts'
import { KopfError } from '../../errors.ts'
import type { KubeObject } from '../../kube/objects.ts'
import { isPlainObject } from '../../util/json/json.ts'
import { parseYaml } from '../../util/yaml.ts'

/**
 * A manifest of `startCluster` or `cluster.apply`: the path of a YAML or JSON file with any number of documents, the path of a
 * folder with such files, or an object. Paths are relative to the working directory of the process; use a `URL` for a path
 * relative to the test file. A `List` is replaced by its items.
 *
 * @example
 * ```ts
 * await cluster.apply('examples/orders.yaml', 'examples/users')
 * ```
 */
export type Manifest = string | URL | { readonly apiVersion: string; readonly kind: string }

export interface ManifestObject {
  readonly object: KubeObject
  /** For error messages, for example `document 2 of "rbac.yaml"`. */
  readonly origin: string
}

export async function readManifests(manifests: ReadonlyArray<Manifest | SelfDescribed>): Promise<ManifestObject[]> {
  const objects: ManifestObject[] = []
  for (const manifest of manifests) {
    if (typeof manifest === 'string' || manifest instanceof URL) objects.push(...(await readPath(toPath(manifest))))
    else objects.push(...flatten(manifest, 'an object of the test'))
  }
  return objects
}

/** The error for an object that cannot be created, with its kind, name and origin. */
export function toManifestError({ object, origin }: ManifestObject, cause: unknown): KopfError {
  const { kind, metadata } = object
  const why = cause instanceof Error ? cause.message : String(cause)
  const what = `${kind} "${metadata.name ?? metadata.generateName}"`
  return new KopfError('KOPF_TEST_MANIFEST', `Cannot create ${what}, ${origin}: ${why}`, { cause })
}

function toPath(file: string | URL): string {
  const text = String(file)
  if (text.startsWith('file:')) return fileURLToPath(text)
  if (!/^https?:/.test(text)) return text
  throw new KopfError(
    'KOPF_FILE',
    `Cannot read "${text}": manifests are not downloaded; save it as a file of the project`,
  )
}

async function readPath(path: string): Promise<ManifestObject[]> {
  try {
    if (!(await stat(path)).isDirectory()) return parse(path, await readFile(path, 'utf8'))
    const names = (await readdir(path)).filter((name) => /\.(ya?ml|json)$/.test(name)).sort()
    const files = await Promise.all(names.map((name) => readPath(join(path, name))))
    return files.flat()
  } catch (error) {
    if (error instanceof KopfError) throw error
    throw new KopfError('KOPF_FILE', `Cannot read "${path}": ${(error as Error).message}`, { cause: error })
  }
}

function parse(path: string, text: string): ManifestObject[] {
  const documents = parseYaml(text)
  const numberOf = (index: number) => (documents.length === 1 ? '' : `document ${index + 1} of `)
  return documents.flatMap((document, index) => flatten(document, `${numberOf(index)}"${path}"`))
}

function flatten(value: unknown, origin: string): ManifestObject[] {
  const { apiVersion, kind, items, metadata } = isPlainObject(value) ? value : {}
  if (apiVersion === 'v1' && kind === 'List' && Array.isArray(items)) {
    return items.flatMap((item, index) => flatten(item, `item ${index + 1} of ${origin}`))
  }
  const problem = problemOf(apiVersion, kind, metadata)
  if (problem === undefined) return [{ object: value as unknown as KubeObject, origin }]
  throw new KopfError('KOPF_TEST_MANIFEST', `Cannot create ${origin}: it has no ${problem}`)
}

function problemOf(apiVersion: unknown, kind: unknown, metadata: unknown): string | undefined {
  if (typeof apiVersion !== 'string') return 'apiVersion'
  if (typeof kind !== 'string') return 'kind'
  const { name, generateName } = isPlainObject(metadata) ? metadata : {}
  return typeof (name ?? generateName) === 'string' ? undefined : 'metadata.name'
}
