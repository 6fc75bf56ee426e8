/** Reads YAML and JSON files with objects, and sorts CRDs first. Also explains file errors to the user. */
import { readFile } from 'node:fs/promises'
import { KopfError } from '../errors.ts'
import type { KubeObject } from '../kube/objects.ts'
import { parseYaml, YamlError } from '../util/yaml.ts'

/** The objects of a file. Without a file for generated objects. */
export interface ManifestFile {
  readonly file?: string
  readonly objects: readonly unknown[]
}

export async function readManifest(file: string): Promise<ManifestFile> {
  try {
    return { file, objects: parseYaml(await readFile(file, 'utf8')) }
  } catch (error) {
    const why = error instanceof YamlError ? error.message : explainFileProblem(error)
    throw new KopfError('KOPF_FILE', `Cannot read "${file}": ${why}`, { cause: error })
  }
}

/** Puts all CRDs first, regardless of their file. A CRD in a file replaces the operator's own. */
export function orderManifests(crds: readonly KubeObject[], manifests: readonly ManifestFile[]): ManifestFile[] {
  const files = splitCrds(manifests)
  const given = new Set(manifests.flatMap(({ objects }) => objects.filter(isCrd).map(nameOf)))
  const own = crds.filter((crd) => !given.has(nameOf(crd)))
  return [{ objects: own }, ...files.crds, ...files.others]
}

/** Separates CRDs from other objects. */
export function splitCrds(manifests: readonly ManifestFile[]): {
  readonly crds: ManifestFile[]
  readonly others: ManifestFile[]
} {
  const pick = (isIncluded: (object: unknown) => boolean) =>
    manifests.map(({ objects, ...manifest }) => ({ ...manifest, objects: objects.filter(isIncluded) }))
  return { crds: pick(isCrd), others: pick((object) => !isCrd(object)) }
}

export function isCrd(object: unknown): boolean {
  return (object as KubeObject | undefined)?.kind === 'CustomResourceDefinition'
}

function nameOf(object: unknown): string | undefined {
  return (object as KubeObject).metadata?.name
}

const problems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  ENOTDIR: 'there is no such folder',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOSPC: 'there is no space left on the device',
}

export function explainFileProblem(error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException
  return problems[code] ?? message
}
