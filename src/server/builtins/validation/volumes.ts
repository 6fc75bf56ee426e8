/** Validation of a pod's volumes. Vendor-specific sources are only counted. Used by pod-spec.ts. */

import { nanosOf } from '../../../kube/quantities.ts'
import { duplicate, type FieldError, forbidden, invalid, required } from '../../field-errors.ts'
import { checkLabel, checkOneOf } from '../checks.ts'
import type { KeyToPath, Volume } from './shapes.ts'

/** In the real server's order: the first source present is the volume's type, any further source is an error. */
const sources = [
  'emptyDir',
  'hostPath',
  'gitRepo',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'secret',
  'nfs',
  'iscsi',
  'glusterfs',
  'flocker',
  'persistentVolumeClaim',
  'rbd',
  'cinder',
  'cephfs',
  'quobyte',
  'downwardAPI',
  'fc',
  'flexVolume',
  'configMap',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'storageos',
  'projected',
  'scaleIO',
  'csi',
  'ephemeral',
  'image',
]

/** The errors, and the names of the valid volumes, which containers can mount. */
export function checkVolumes(path: string, volumes: readonly Volume[]): { errors: FieldError[]; names: Set<string> } {
  const names = new Set<string>()
  const errors: FieldError[] = []
  for (const [index, volume] of volumes.entries()) {
    const at = `${path}[${index}]`
    const found = [...checkSources(at, volume), ...checkName(`${at}.name`, volume.name)]
    if (names.has(volume.name)) found.push(duplicate(`${at}.name`, volume.name))
    if (found.length === 0) names.add(volume.name)
    errors.push(...found)
  }
  return { errors, names }
}

function checkName(path: string, name: string): FieldError[] {
  return name === '' ? [required(path)] : checkLabel(path, name)
}

function checkSources(path: string, volume: Volume): FieldError[] {
  const [first, ...others] = sources.filter((source) => volume[source] !== undefined)
  if (first === undefined) return [required(path, 'must specify a volume type')]
  return [
    ...checkSource(`${path}.${first}`, first, volume),
    ...others.map((source) => forbidden(`${path}.${source}`, 'may not specify more than 1 volume type')),
  ]
}

function checkSource(path: string, source: string, volume: Volume): FieldError[] {
  switch (source) {
    case 'emptyDir':
      if (nanosOf(volume.emptyDir?.sizeLimit) >= 0n) return []
      return [forbidden(`${path}.sizeLimit`, 'SizeLimit field must be a valid resource quantity')]
    case 'hostPath':
      return checkHostPath(path, volume.hostPath!)
    case 'secret':
      return checkFiles(path, 'secretName', volume.secret?.secretName, volume.secret!)
    case 'configMap':
      return checkFiles(path, 'name', volume.configMap?.name, volume.configMap!)
    case 'persistentVolumeClaim':
      return volume.persistentVolumeClaim?.claimName ? [] : [required(`${path}.claimName`)]
    case 'nfs':
      return checkNfs(path, volume.nfs!)
    default:
      return []
  }
}

function checkFiles(
  path: string,
  nameField: string,
  name: string | undefined,
  { defaultMode, items = [] }: { readonly defaultMode?: number; readonly items?: readonly KeyToPath[] },
): FieldError[] {
  return [
    ...(name ? [] : [required(`${path}.${nameField}`)]),
    ...checkMode(`${path}.defaultMode`, defaultMode),
    ...items.flatMap((entry, index) => checkKeyToPath(`${path}.items[${index}]`, entry)),
  ]
}

function checkMode(path: string, mode: number | undefined): FieldError[] {
  if (mode === undefined || (mode >= 0 && mode <= 0o777)) return []
  return [invalid(path, mode, 'must be a number between 0 and 0777 (octal), both inclusive')]
}

function checkKeyToPath(path: string, { key, path: file = '', mode }: KeyToPath): FieldError[] {
  const errors = key ? [] : [required(`${path}.key`)]
  if (file === '') errors.push(required(`${path}.path`))
  errors.push(...checkRelativePath(`${path}.path`, file))
  if (file.startsWith('..') && !file.startsWith('../'))
    errors.push(invalid(`${path}.path`, file, "must not start with '..'"))
  return [...errors, ...checkMode(`${path}.mode`, mode)]
}

/** Checks a path that must stay below a directory: not absolute, no `..`. */
export function checkRelativePath(path: string, file: string): FieldError[] {
  const errors = file.startsWith('/') ? [invalid(path, file, 'must be a relative path')] : []
  return [...errors, ...checkBacksteps(path, file)]
}

export function checkBacksteps(path: string, file: string): FieldError[] {
  return file.split('/').includes('..') ? [invalid(path, file, "must not contain '..'")] : []
}

const hostPathTypes = [
  '',
  'BlockDevice',
  'CharDevice',
  'Directory',
  'DirectoryOrCreate',
  'File',
  'FileOrCreate',
  'Socket',
]

export function checkHostPath(path: string, source: { readonly path?: string; readonly type?: string }): FieldError[] {
  if (!source.path) return [required(`${path}.path`)]
  return [...checkBacksteps(`${path}.path`, source.path), ...checkOneOf(`${path}.type`, source.type, hostPathTypes)]
}

export function checkNfs(
  path: string,
  { server, path: file = '' }: { readonly server?: string; readonly path?: string },
): FieldError[] {
  const errors = server ? [] : [required(`${path}.server`)]
  if (file === '') errors.push(required(`${path}.path`))
  if (!file.startsWith('/')) errors.push(invalid(`${path}.path`, file, 'must be an absolute path'))
  return errors
}
