// What the page calls of d3-hierarchy, for the check of types.
export declare const hierarchy: (data: any) => any;
export declare const treemap: () => any;
export declare const treemapSquarify: any;
