/** A small certificate authority (CA): issues a TLS Secret for each `Certificate`, and renews it before it expires. */
import { type Body, buildObject, Operator, TemporaryError } from 'kopf'
import { Secret } from 'kopf/kubernetes'
import { encode, ensureCa, type Problem, readPair } from './ca.ts'
import { Certificate, type CertificateSpec, caSecretName, toMs } from './resource.ts'
import { type Details, endOf, issue, type KeyPair, read } from './x509.ts'

export { Certificate }

const kopf = new Operator({ name: 'certificates-operator' })
export default kopf

const byNamespace = kopf.index(Certificate, { id: 'by-namespace' }, ({ namespace, name }) => [[namespace, name]])

/** All Certificates of the namespace: their CA has been restored, replaced or lost. */
function signedBy({ metadata: { name, namespace = '' } }: Body<Secret>): ObjectKey[] {
  if (name !== caSecretName) return []
  return [...byNamespace.get(namespace)].map((certificate) => ({ name: certificate, namespace }))
}

interface ObjectKey {
  readonly name: string
  readonly namespace: string
}

kopf.reconcile(Certificate, { id: 'certificate', owns: [Secret], watches: [[Secret, signedBy]] }, async (args) => {
  const { name, namespace, spec, status, patch, conditions, client, children, clock, logger } = args
  const nowMs = clock.now()
  const ca = await ensureCa(client, namespace, nowMs)
  const fail = ({ reason, message }: Problem) => {
    conditions.set('Ready', false, reason, message)
    return new TemporaryError(message, { delay: '1m' })
  }
  // The existing Secret stays as it is, because there is no result with children.
  if (ca.type === 'problem') throw fail(ca)

  const pair = readPair(children.get(Secret, spec.secretName)?.data)
  const current = pair && read(pair, ca.certPem)
  if (current !== undefined) {
    // The status always describes the Secret in the cluster. So it is written here, and not when a certificate is issued.
    if (status.serial !== current.serial) {
      patch.status.renewals = status.serial === undefined ? 0 : (status.renewals ?? 0) + 1
      patch.status.serial = current.serial
    }
    patch.status.notBefore = toTime(current.notBeforeMs)
    patch.status.notAfter = toTime(current.notAfterMs)
  }

  const reason = reasonToIssue(current, spec, nowMs)
  if (pair !== undefined && current !== undefined && reason === undefined) {
    const renewAtMs = current.notAfterMs - toMs(spec.renewBefore)
    conditions.set('Ready', true, 'Issued', `The certificate is renewed on ${toTime(renewAtMs)}`)
    const requeueAfter = Math.ceil((renewAtMs - nowMs) / 1000)
    return { children: [buildSecret(spec, pair, ca.certPem)], requeueAfter }
  }

  const durationMs = toMs(spec.duration)
  const caEndMs = endOf(ca.certPem)
  if (nowMs + durationMs > caEndMs) {
    const message = `The CA ends on ${toTime(caEndMs)}, before a new certificate would: shorten the duration, or replace the CA`
    throw fail({ reason: 'CAExpires', message })
  }
  const next = await issue(ca, spec.dnsNames, { nowMs, durationMs })
  logger.info(`Issuing a certificate for ${spec.dnsNames.join(', ')} in the Secret "${spec.secretName}": ${reason}`)
  if (reason === 'Due' && current !== undefined && current.notAfterMs > nowMs) {
    conditions.set('Ready', true, 'Renewing', 'The certificate is being renewed')
  } else if (conditions.get('ChildrenApplied')?.status === 'False') {
    const message = `The Secret "${spec.secretName}" cannot be written: see the condition ChildrenApplied`
    conditions.set('Ready', false, 'SecretRefused', message)
  } else {
    conditions.set('Ready', false, 'Issuing', `The certificate of "${name}" is being issued`)
  }
  // The new Secret is a change of a child, which calls this function again: then the status is written.
  return { children: [buildSecret(spec, next, ca.certPem)] }
})

/** Why a certificate has to be issued, or undefined if the current one is good. */
function reasonToIssue(
  current: Details | undefined,
  { dnsNames, duration, renewBefore }: CertificateSpec,
  nowMs: number,
): string | undefined {
  if (current === undefined) return 'Missing'
  if ([...current.dnsNames].sort().join() !== [...dnsNames].sort().join()) return 'NamesChanged'
  if (current.durationMs !== toMs(duration)) return 'DurationChanged'
  return current.notAfterMs - toMs(renewBefore) <= nowMs ? 'Due' : undefined
}

function buildSecret({ secretName }: CertificateSpec, { certPem, keyPem }: KeyPair, caPem: string): Secret {
  return buildObject(Secret, {
    metadata: { name: secretName },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': encode(certPem), 'tls.key': encode(keyPem), 'ca.crt': encode(caPem) },
  })
}

/** Times in the status have whole seconds, as in Kubernetes. */
function toTime(timeMs: number): string {
  return new Date(timeMs).toISOString().replace('.000Z', 'Z')
}
