// What the page calls of d3, for the check of types.
export declare const zoom: () => any;
export declare const zoomIdentity: any;
export declare const brushX: () => any;
export declare const select: (element: any) => any;
export declare const scaleLinear: () => any;
