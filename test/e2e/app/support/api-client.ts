/** Talks to the app over real HTTP, and waits for jobs. */
import { eventually } from './eventually.js';

export interface ApiResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly type: string | undefined;
  readonly body: Body;
}

/** What tests look at in answers of any route. */
export interface Body {
  readonly [key: string]: unknown;
  readonly jobId?: string;
  readonly invoiceId?: string;
  readonly status?: unknown;
  readonly attempt?: number;
  readonly jobs?: readonly Body[];
  readonly nextCursor?: string;
  readonly errors?: readonly { path: string; messages: string[] }[];
}

export class ApiClient {
  constructor(readonly url: string) {}

  get(path: string): Promise<ApiResponse> {
    return this.send('GET', path);
  }

  post(path: string, json?: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
    if (json === undefined) return this.send('POST', path, undefined, headers);
    return this.send('POST', path, JSON.stringify(json), { 'content-type': 'application/json', ...headers });
  }

  async send(
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<ApiResponse> {
    const response = await fetch(this.url + path, { method, headers, ...(body !== undefined && { body }) });
    return {
      status: response.status,
      headers: response.headers,
      type: response.headers.get('content-type')?.split(';')[0],
      body: JSON.parse((await response.text()) || '{}'),
    };
  }

  async enqueueEmail(fields: Record<string, unknown> = {}): Promise<string> {
    const email = { userId: '42', email: 'ada@example.com', template: 'welcome', ...fields };
    const { status, body } = await this.post('/emails', email);
    if (status !== 202 || body.jobId === undefined) throw new Error(`not accepted: ${JSON.stringify(body)}`);
    return body.jobId;
  }

  async createInvoice(fields: Record<string, unknown> = {}): Promise<string> {
    const { status, body } = await this.post('/invoices', {
      customerId: 'acme',
      amountCents: 4_200,
      ...fields,
    });
    if (status !== 201 || body.invoiceId === undefined) {
      throw new Error(`not created: ${JSON.stringify(body)}`);
    }
    return body.invoiceId;
  }

  /** The job as soon as it is in that status. */
  jobInStatus(jobId: string, status: string): Promise<Body> {
    return this.jobWhen(jobId, (job) => job.status === status);
  }

  jobWhen(jobId: string, isMet: (job: Body) => boolean): Promise<Body> {
    return eventually(async () => (await this.get(`/jobs/${encodeURIComponent(jobId)}`)).body, isMet);
  }
}
