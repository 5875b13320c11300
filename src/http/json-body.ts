/** What every request body must be, before anybody looks at its properties: one JSON object. */
import { UnsupportedMediaTypeException } from '@nestjs/common';
import type { NextFunction, Request, Response } from 'express';
import { RequestInvalidException } from './request-invalid.exception.js';

/** Before the body parser, which leaves other types alone: they would look like an empty body. */
export function requireJson(request: Request, _response: Response, next: NextFunction): void {
  // `is` answers null when there is no body, and takes one of no bytes for one of another type.
  const isEmpty = request.headers['content-length'] === '0';
  if (isEmpty || request.is('json') !== false) return next();
  const received = request.headers['content-type'] ?? 'none';
  next(
    new UnsupportedMediaTypeException(
      `The body must be JSON, sent with "content-type: application/json" (received ${received}).`,
    ),
  );
}

/** After the body parser, which lets lists through: their validation would name properties of no sense. */
export function refuseLists(request: Request, _response: Response, next: NextFunction): void {
  if (!Array.isArray(request.body)) return next();
  next(new RequestInvalidException([{ path: 'body', messages: ['must be a JSON object, not a list'] }]));
}
