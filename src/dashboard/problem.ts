/** Problems that the API of the dashboard reports to a client: an HTTP status, a stable code and a sentence. */
import { KopfError } from '../errors.ts'

export type ProblemStatus = 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 429 | 503

/** Thrown while a request is handled; server.ts answers with it. */
export class DashboardProblem extends KopfError {
  readonly status: ProblemStatus

  constructor(status: ProblemStatus, code: string, message: string, options?: ErrorOptions) {
    super(code, message, options)
    this.status = status
  }
}

export function invalidRequest(status: 400 | 404 | 405 | 413 | 415, why: string): DashboardProblem {
  return new DashboardProblem(status, 'KOPF_DASHBOARD_REQUEST', `Cannot serve the request: ${why}`)
}

/** A request from another web site, or without the CSRF token of the session. */
export function foreignRequest(why: string): DashboardProblem {
  return new DashboardProblem(403, 'KOPF_DASHBOARD_REQUEST', `Cannot serve the request: ${why}`)
}

export function notLoggedIn(): DashboardProblem {
  const message = 'Cannot show the dashboard: the session has ended, or there was none; log in again'
  return new DashboardProblem(401, 'KOPF_DASHBOARD_LOGIN', message)
}

export function loginRefused(status: 401 | 429, why: string): DashboardProblem {
  return new DashboardProblem(status, 'KOPF_DASHBOARD_LOGIN', `Cannot log in: ${why}`)
}

/** The user lacks a permission, or the object does not exist: a user without permissions cannot tell which. */
export function notAllowed(what: string): DashboardProblem {
  return new DashboardProblem(403, 'KOPF_DASHBOARD_ACCESS', what)
}
