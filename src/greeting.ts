/** What somebody who just started the app may want to try next. */
import type { AppConfig } from './config/app-config.js';

export function greeting(config: AppConfig, listeningOn: string): string {
  const url = listeningOn.replace('[::1]', 'localhost').replace('127.0.0.1', 'localhost');
  return `
Fenceline's reference app listens on ${url}
  jobs     ${config.redisUrl === undefined ? 'in memory (set REDIS_URL to keep them)' : 'in Redis'}
  invoices ${config.databaseUrl === undefined ? 'in memory (set DATABASE_URL to keep them)' : 'in Postgres'}
  workers  ${config.role === 'api' ? 'none in this process (ROLE=api)' : 'in this process'}
  e-mails  ${config.smtpUrl === undefined ? `as files in ${config.outboxDir}/` : 'by SMTP'}

Try it:
  curl -i ${url}/emails -H 'content-type: application/json' -d '{"userId":"42","email":"ada@example.com","template":"welcome"}'
  curl ${url}/jobs/<jobId>
  curl ${url}/invoices -H 'content-type: application/json' -H 'idempotency-key: 1' -d '{"customerId":"acme","amountCents":4200}'
  curl -X POST ${url}/invoices/<invoiceId>/sync
Health:
  ${url}/health

`;
}
