/** Rules for EndpointSlice. */
import { isIP } from 'node:net'
import type { KubeObject } from '../../../kube/objects.ts'
import { duplicate, type FieldError, invalid, required } from '../../field-errors.ts'
import { subdomainNameProblems } from '../../names.ts'
import { checkImmutable, checkLabel, checkOneOf, problemsAt } from '../checks.ts'
import type { KindRules } from '../strategy.ts'
import { checkEndpointIp, checkIp } from '../validation/addresses.ts'
import { protocols } from '../validation/containers.ts'

interface Slice {
  readonly addressType?: string
  readonly endpoints?: ReadonlyArray<{
    readonly addresses?: readonly string[] | null
    readonly hostname?: string
    readonly nodeName?: string
  }> | null
  readonly ports?: ReadonlyArray<{ readonly name?: string; readonly protocol?: string }> | null
}

function validateSlice(object: KubeObject): FieldError[] {
  const { addressType = '', endpoints, ports } = object as Slice
  const names = new Set<string>()
  return [
    ...(addressType === ''
      ? [required('addressType')]
      : checkOneOf('addressType', addressType, ['FQDN', 'IPv4', 'IPv6'])),
    ...(ports ?? []).flatMap(({ name = '', protocol }, index) => {
      const errors = name === '' ? [] : checkLabel(`ports[${index}].name`, name)
      if (names.has(name)) errors.push(duplicate(`ports[${index}].name`, name))
      names.add(name)
      return [...errors, ...checkOneOf(`ports[${index}].protocol`, protocol, protocols)]
    }),
    ...(endpoints ?? []).flatMap(({ addresses, hostname, nodeName }, index) => {
      const at = `endpoints[${index}]`
      const list = addresses ?? []
      const errors = list.length === 0 ? [required(`${at}.addresses`, 'must contain at least 1 address')] : []
      for (const [number, address] of list.entries())
        errors.push(...checkAddress(`${at}.addresses`, number, address, addressType))
      if (nodeName !== undefined)
        errors.push(...problemsAt(`${at}.nodeName`, nodeName, subdomainNameProblems(nodeName, false)))
      return hostname === undefined ? errors : [...errors, ...checkLabel(`${at}.hostname`, hostname)]
    }),
  ]
}

function checkAddress(path: string, index: number, address: string, type: string): FieldError[] {
  if (type !== 'IPv4' && type !== 'IPv6') return []
  const errors = checkIp(`${path}[${index}]`, address)
  if (errors.length > 0) return errors
  const isRight = isIP(address) === (type === 'IPv4' ? 4 : 6)
  return [
    ...(isRight ? [] : [invalid(path, address, `must be an ${type} address`)]),
    ...checkEndpointIp(`${path}[${index}]`, address),
  ]
}

export const endpointSliceRules: KindRules = {
  generationOf: (slice) => [slice['addressType'], slice['endpoints'], slice['ports'], slice.metadata.labels],
  validate: validateSlice,
  validateUpdate: (slice, old) => [
    ...validateSlice(slice),
    ...checkImmutable('addressType', slice['addressType'], old['addressType']),
  ],
}
